"""Motion of a figure: configurations over time, their spline, edits, terrain, contact labels, and the files they are kept in."""
