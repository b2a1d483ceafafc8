"""Results of the filter: motion, torques, contact forces, deviations, plots, HTML report."""
