"""Visualization: plots, a software renderer for pictures of models, force arrows, HTML pages."""
