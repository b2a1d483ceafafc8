"""The tracking reference: smoothing, stance detection, footholds, trajectory inverse kinematics."""
