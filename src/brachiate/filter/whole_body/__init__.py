"""The whole-body controller: state, tasks, contact constraints, whole-body QP."""
