"""Centroidal planning (MPC): CoM, angular momentum and footholds over a horizon, by staged least squares."""
