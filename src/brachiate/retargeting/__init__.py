"""A motion of one figure as a motion of another: landmarks, goals for them, and one fit of all frames."""
