"""Memory of a check: a frame keeps its states, torques, metrics and the points in contact, not the kinematics of all points."""

import tracemalloc

import brachiate as br
from brachiate.contact_estimation.motion_dynamics import BLOCK


def kept_memory(motion):
    """Report of a motion, and the memory that it keeps [B]."""
    before = tracemalloc.get_traced_memory()[0]
    report = br.check(motion)
    return report, tracemalloc.get_traced_memory()[0] - before


def test_memory_of_a_checked_frame():
    walk = br.sample_motion("walk", speed=1.4, step_length=0.7, seconds=4.0)
    motions = [walk.loop(times) for times in (3, 6)]
    br.check(walk)
    tracemalloc.start()
    try:
        (short, first), (long, second) = map(kept_memory, motions)
    finally:
        tracemalloc.stop()
    added, figure, dynamics = len(long.times) - len(short.times), walk.figure, long.dynamics
    parts, limits = len(dynamics.contact_points.parts), len(long.limit_names)
    touching = int((dynamics.contact_mode != 0).any(axis=0).sum())
    states, results = 1 + figure.nq + 2 * figure.nv, figure.nv + 3 + 6 + 6  # t, q, v, a; torque, CoM, required wrench, residual
    metrics, heights_and_speeds = 3 * parts + figure.nv + limits + 7, 3 * parts
    frame = 8 * (states + results + metrics + heights_and_speeds) + touching * (1 + 8 * (1 + 3))  # mode, confidence and force of points
    labels = 500 * (len(long.contacts.contacts) - len(short.contacts.contacts))  # objects of Python
    assert added > BLOCK
    assert second - first < 1.05 * frame * added + labels
    assert frame < 0.5 * (8 * 11 * len(dynamics.contact_points) + frame)  # all points in all frames would need more than twice as much


def test_blocks_are_those_of_all_frames():
    report = br.check(br.sample_motion("walk", speed=1.4, step_length=0.7, seconds=4.0).loop(3))
    dynamics, span = report.dynamics, slice(BLOCK - 5, BLOCK + 7)
    position, velocity = dynamics.point_position, dynamics.point_velocity
    blocks = [(block.frames, block.point_position.copy(), block.point_velocity.copy()) for block in dynamics.blocks(span)]
    assert [frames for frames, _, _ in blocks] == [slice(BLOCK - 5, BLOCK), slice(BLOCK, BLOCK + 7)]
    for frames, p, v in blocks:
        assert (p == position[frames]).all()
        assert (v == velocity[frames]).all()
    before = dynamics.contact_force
    dynamics.estimate_forces(dynamics.contact_mode, dynamics.confidence)
    assert before.any()
    assert (dynamics.contact_force == before).all()
