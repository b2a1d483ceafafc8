"""The online filter: reference stream, causal contact estimation, motion prediction."""
