"""Plots and pictures; nothing here knows who made the numbers."""
