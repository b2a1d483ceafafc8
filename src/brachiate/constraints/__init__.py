"""What holds: connections, locks and couplings, as rows of one constraint set with one solve."""
