"""World: figures with their state, constraints, contact and dynamics, everything by name."""
