"""Contact: collision detection, the frictional contact law and its solvers, and time stepping with contact."""
