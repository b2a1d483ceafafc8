"""Is this motion possible? What a body would need to make it, and does not have."""
