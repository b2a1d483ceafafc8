"""Time stepping with contact: contact rows, the step, impulses, the log."""
