"""Contact states by trial and error, as published [DF] V, VI."""
