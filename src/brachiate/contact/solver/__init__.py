"""Solver of the frictional contact problem: Signorini-Coulomb law, Newton and its fallbacks."""
