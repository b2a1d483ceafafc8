"""World: figures together, their state, structure, and everything asked of them by name."""
