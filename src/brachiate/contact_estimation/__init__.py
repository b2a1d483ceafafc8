"""Contact estimation: contacts inferred from a motion, and ground reaction forces."""
