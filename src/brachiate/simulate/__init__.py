"""Running worlds through time: integrators, events, recordings."""
