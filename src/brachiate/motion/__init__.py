"""Motion of a figure: configurations over time, and what can be done with and told about them."""
