"""Physical plausibility of a motion: check, metrics, verdict and report."""
