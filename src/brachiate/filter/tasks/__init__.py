"""Functions of the motion as tasks of the filter's whole-body QP: targets over time, rows of the QP, and what became of them."""
