"""Numbers that users give have ranges: values beyond them are refused by name, with the valid range.

Each call was accepted, or failed somewhere inside, before there were ranges.
"""

from __future__ import annotations

import pytest

import brachiate as br
from brachiate.clip.clip import Clip
from brachiate.motion.terrain import parse_terrain


def giant() -> Clip:
    clip = br.procedural.make_clip("squat", seconds=0.5)
    return Clip(clip.skeleton.scaled(10.0), clip.times, clip.rotations, 10.0 * clip.translations, "giant")


def world() -> br.World:
    made = br.World()
    made.add(br.figures.arm2(), name="arm")
    return made


def assign(name: str, value: object) -> None:
    setattr(world(), name, value)


CASES = {
    "stature of a skeleton": (lambda: br.Motion.from_clip(giant()), r"giant: by the length of its legs the skeleton is 17\.\d m tall"),
    "height": (lambda: br.figures.human28(height=16.5), r"height: 16\.5 m is outside 0\.5 to 2\.5 m"),
    "mass": (lambda: br.figures.human28(mass=1e9), r"mass: 1e\+09 kg is outside 5 to 300 kg"),
    "height of a loaded body": (lambda: br.load_motion("x.bvh", height=16.5), r"height \[m\] must be at least 0\.5.*got 16\.5"),
    "mass of a loaded body": (lambda: br.load_motion("x.bvh", mass=1e9), r"mass \[kg\] must be at least 5 and at most 300, got 1e\+09"),
    "mass of a box": (lambda: br.figures.box(mass=1e9), r"mass of the box must be more than 0 and at most 1e\+07, got 1e\+09"),
    "size of a box": (lambda: br.figures.box((1e8, 1, 1)), r"size of the box: numbers from -10000 to 10000 are valid"),
    "tiny mass": (lambda: br.figures.arm2(mass=1e-300), r"mass of the rods must be at least 1e-09 and at most 1e\+07, got 1e-300"),
    "length of a bar": (lambda: br.figures.bar(length=1e308), r"length of the bar must be more than 0 and at most 10000, got 1e\+308"),
    "steps": (lambda: br.figures.stairs(10**7), r"count of the steps must be at least 1 and at most 100, got 1e\+07"),
    "slope": (lambda: parse_terrain("slope:80"), r"slope of the terrain must be at least -60 and at most 60, got 80"),
    "friction of a terrain": (lambda: br.Terrain(friction=1e3), r"friction of the terrain must be at least 0 and at most 10, got 1000"),
    "height of a terrain": (lambda: br.Terrain(1e308), r"height of the terrain must be at least -10000 and at most 10000"),
    "belt": (lambda: br.Terrain(belt=(1e9, 0)), r"belt of the terrain: numbers from -50 to 50 are valid"),
    "start of stairs": (lambda: br.Stairs(0.1, start=1e308), r"start of stairs must be at least -10000 and at most 10000"),
    "gravity": (lambda: br.World(gravity=1e9), r"gravity must be at least 0 and at most 10000, got 1e\+09"),
    "gravity vector": (lambda: br.World(gravity=(0, 0, -1e308)), r"gravity: numbers from -10000 to 10000 are valid"),
    "gravity later": (lambda: assign("gravity", (0, 0, 1e308)), r"gravity: numbers from -10000 to 10000 are valid"),
    "velocity": (lambda: assign("v", {"arm/shoulder": 1e300}), r"world\.v: numbers from -1e\+09 to 1e\+09 are valid"),
    "torque": (lambda: assign("torque", {"arm/shoulder": 1e300}), r"world\.torque: numbers from -1e\+12 to 1e\+12 are valid"),
    "position": (lambda: br.World().add(br.figures.box(), at=(1e308, 0, 0)), r"position of 'box': numbers from -1e\+06 to 1e\+06"),
    "applied force": (lambda: world().apply_force("arm/forearm", (1e308, 0, 0)), r"force: numbers from -1e\+12 to 1e\+12 are valid"),
    "stiffness": (lambda: br.SpringDamper(1e308), r"stiffness of a compliant connection must be at least 0 and at most 1e\+12"),
    "rate": (lambda: br.sample_motion("squat", seconds=0.5).resample(1e300), r"rate must be more than 0 and at most 100000, got 1e\+300"),
    "offset": (lambda: br.sample_motion("squat", seconds=0.5).move((1e300, 0)), r"offset: numbers from -1e\+06 to 1e\+06 are valid"),
    "frame": (lambda: br.sample_motion("squat", seconds=0.5).place(frame=10**6), r"frame must be at least -61 and at most 60, got 1e\+06"),
    "cutoff": (lambda: br.check(br.sample_motion("squat", seconds=0.5), cutoff=1e300), r"cutoff must be at least 0\.1 and at most 10000"),
    "scale": (
        lambda: br.retarget(br.sample_motion("squat", seconds=0.5), br.figures.human28(), scale=1e300),
        r"scale must be at least 0\.01 and at most 100, got 1e\+300",
    ),
    "contact": (lambda: br.ContactInterval("left_heel", 0.0, 1e300), r"end of a contact must be at least -1e\+09 and at most 1e\+09"),
    "step length": (lambda: br.sample_motion("walk", step_length=1e300), r"step_length must be more than 0 and at most 10, got 1e\+300"),
    "speed": (lambda: br.sample_motion("walk", speed=1e300), r"speed must be at least 0\.1 and at most 2\.5"),
    "payload": (lambda: br.figures.with_payload(br.figures.human16(), {"head": 1e9}), r"payload of 'head' must be at least 0 and at most"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_numbers_beyond_their_range_are_refused(case):
    call, message = CASES[case]
    with pytest.raises(br.BrachiateError, match=message):
        call()


def test_a_world_without_constraints_has_constrained_accelerations():
    """A world without connections crashed the interpreter here: the constraint solver has no arrays for it."""
    made = world()
    assert made.constrained_accelerations() == pytest.approx(made.forward_dynamics())
