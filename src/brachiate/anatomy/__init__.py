"""Anatomy of a figure: landmarks, feet and soles, contact points, height."""
