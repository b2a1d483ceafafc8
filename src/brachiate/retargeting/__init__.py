"""Retargeting of motions between figures: IK targets, foot locking, trajectory inverse kinematics."""
