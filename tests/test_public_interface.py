"""Random calls of the public interface with wrong types, shapes, NaN and unknown names: only a BrachiateError or a result comes out.

Fails if a call raises anything else, such as a TypeError or an IndexError from inside, or warns of an overflow or a division by zero.
Calls that compile or take seconds for valid arguments (filter_motion, DynamicsFilter) get one wrong argument each.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brachiate as br
from brachiate.clip.clip import Clip


class UserFunctionError(Exception):
    """Error of a function that is given as an argument."""


def user_function(*_: Any) -> Any:
    """Fail, as functions of users may."""
    raise UserFunctionError


NAN, INF = float("nan"), float("inf")
#: Wrong and odd values of any argument; valid ones are among them, by chance or as defaults.
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3, 10**30, 0.5, -2.5, 1e-300, 1e308, NAN, INF, -INF, 1j, "", "x", "walk", "no such name", "left_knee",
    "\0", b"bytes", (), [], {}, set(), (1.0,), (1.0, 2.0), (1.0, 2.0, 3.0), (NAN, 0.0, 0.0), (0.0, 0.0, 0.0), (1, 2, 3, 4), (0, 0, 0, 0),
    [[1.0], [2.0, 3.0]], [None], ["a", "b"], {"a": 1.0}, {"left_knee": 1.0}, {"left_knee": "x"}, {1: 2}, np.zeros(0), np.zeros(3),
    np.zeros((2, 2)), np.full((3, 3), NAN), np.eye(3), np.array("x"), np.array([object()]), slice(None), slice(5, 2), slice(0, 1, 0),
    slice("a", "b"), object(), object, len, user_function, range(3), iter(()), np.float32(1.5), np.int8(3), np.datetime64("2020-01-01"),
)  # fmt: skip
odd = st.integers(0, len(ODD) - 1)


@cache
def model() -> br.Model:
    return br.figures.human16()


@cache
def motion() -> br.Motion:
    return br.sample_motion("squat", seconds=0.6, rate=30.0)


def world() -> br.World:
    made = br.World()
    made.add(br.figures.arm2(), name="arm")
    made.add(br.figures.box(), name="box", at=(0, 0, 3))
    return made


@cache
def touching_world() -> br.World:
    made = world()
    made.enable_contact()
    return made


def connected_world() -> br.World:
    """A world with contact, a loop, a lock, a prescribed coordinate and an applied force, after some steps."""
    made = br.World()
    made.add(br.figures.ground(), name="floor")
    made.add(br.figures.human16(), name="man").place((0, 0, 1.0))
    made.connect("man/left_hand", "man/right_hand", br.Spherical(), name="hands")
    made.lock("man/left_knee")
    made.prescribe("man/right_knee", [made.angle("man/right_knee"), 0.1], duration=1.0)
    made.apply_force("man/chest", (10, 0, 0))
    made.enable_contact()
    running = br.Simulation(made, dt=0.002)
    for _ in range(3):
        running.step()
    return made


def simulation() -> br.Simulation:
    return br.Simulation(world(), dt=0.002)


@cache
def recording() -> br.Recording:
    return simulation().run(0.004)


def labels() -> br.ContactLabels:
    return br.ContactLabels((br.ContactInterval("left_heel", 0.0, 1.0),), br.Terrain(0.0))


def builder() -> br.ModelBuilder:
    made = br.ModelBuilder("m")
    made.link("a", mass=1.0, inertia=(0.1, 0.1, 0.1), joint=br.Free())
    made.link("b", parent="a", joint=br.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    return made


Call = tuple[Callable[[], Any], tuple[Any, ...]]  # function, from nothing; leading arguments that are right


def function(f: Any, *right: Any) -> Call:
    return (lambda: f), right


FUNCTIONS: dict[str, Call] = {
    **{f"figures.{name}": function(f) for name, f in br.figures.FIGURES.items()},
    "figures.with_payload": ((lambda: br.figures.with_payload), (model,)),
    **{
        kind.__name__: function(kind)
        for kind in (
            br.Box, br.Capsule, br.Cylinder, br.Ellipsoid, br.HeightField, br.Hull, br.Mesh, br.Plane, br.Sphere, br.Compound,
            br.Cylindrical, br.Fixed, br.Free, br.Planar, br.Prismatic, br.Revolute, br.Spherical, br.Universal, br.cone_limit, br.Material,
            br.Terrain, br.Stairs, br.ContactInterval, br.ContactLabels, br.Motion, br.SpringDamper, br.World, br.Simulation, br.Data,
            br.ModelBuilder, br.load_motion, br.load_model, br.load_contact_labels, br.sample_motion, br.check, br.retarget,
            br.load_settings, br.load_pushes, br.make_reference, br.filter_motion, br.FilterSettings, br.Push, br.Camera, br.ViewSettings,
            br.DynamicsFilter, br.tune, br.simulate_many, br.BatchSimulation, br.JointTargets,
        )
    },
    **{f"procedural.{name}": function(f) for name, f in br.procedural.SAMPLE_MOTIONS.items()},
    "procedural.make_clip": function(br.procedural.make_clip),
    "Motion.from_clip": function(br.Motion.from_clip),
    "Recording.load": function(br.Recording.load),
    "check(motion)": (lambda: br.check, (motion,)),
    "retarget(motion)": (lambda: br.retarget, (motion,)),
    "make_reference(motion)": (lambda: br.make_reference, (motion,)),
    "Motion(model)": (lambda: br.Motion, (model,)),
    "Simulation(world)": (lambda: br.Simulation, (world,)),
    "simulate_many(world, states)": (lambda: br.simulate_many, (touching_world, lambda: [touching_world().save()] * 2)),
    "simulate_many(world, states, targets)": (
        lambda: lambda q, gain: br.simulate_many(touching_world(), [touching_world().save()] * 2, br.JointTargets(q, gain), 3), (),
    ),
}  # fmt: skip

OBJECTS: dict[str, Callable[[], Any]] = {
    "World": world, "connected World": connected_world, "connected Figure": lambda: connected_world().figure("man"),
    "BatchSimulation": lambda: br.BatchSimulation(touching_world(), threads=1),
    "RolloutStates": lambda: br.BatchSimulation(touching_world(), threads=1).states([touching_world().save()] * 2),
    "Connection": lambda: connected_world().connections["hands"], "Lock": lambda: next(iter(connected_world().locks.values())),
    "Contacts": lambda: connected_world().contacts, "connected Simulation": lambda: br.Simulation(connected_world(), dt=0.002),
    "Figure": lambda: world().figure("arm"), "Motion": motion, "ContactLabels": labels, "Terrain": lambda: br.Terrain(0.0),
    "ModelBuilder": builder, "Model": model, "Simulation": simulation, "Recording": recording, "Box": lambda: br.Box(size=np.ones(3)),
    "Capsule": lambda: br.Capsule(radius=0.1, length=0.3), "Revolute": lambda: br.Revolute("y"), "Spherical": br.Spherical,
}  # fmt: skip
#: Methods that run user code or a long time, that only draw, or that are the package's own.
SKIPPED = {
    "Simulation.run", "Simulation.control", "Simulation.each_step", "Simulation.at", "Recording.plot", "Recording.picture", "Motion.save",
    "Recording.save", "ContactLabels.save", "Motion.loop", "World.rebuild",
    *(f"{kind}.{method}" for kind in ("Connection", "Lock") for method in ("add_to", "copy_to", "fits", "set_joint_state")),
    "Contacts.from_sample", "Contacts.index", "Contacts.count",
}  # fmt: skip


def is_deprecated(method: Any) -> bool:
    """Whether a method only forwards its arguments."""
    return {p.kind for p in list(inspect.signature(method).parameters.values())[1:]} == {
        inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    }  # fmt: skip


def methods(name: str) -> list[str]:
    kind, plain = type(OBJECTS[name]()), name.removeprefix("connected ")
    public = [m for m in dir(kind) if not m.startswith("_") and callable(getattr(kind, m, None)) and f"{plain}.{m}" not in SKIPPED]
    public = [m for m in public if not is_deprecated(getattr(kind, m))]
    special = ["__getitem__", "__setitem__"] if plain in ("World", "Figure") else []
    return public + special


METHODS = [(name, method) for name in OBJECTS for method in methods(name)]


def call(f: Callable[..., Any], right: tuple[Any, ...], draw: list[int], named: bool) -> None:
    """Call with odd arguments, by position or by name; deprecations are no errors."""
    try:
        parameters = list(inspect.signature(f).parameters.values())[len(right) :]
    except (TypeError, ValueError):
        return
    usable = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p for p in usable if p.default is p.empty]
    values = [ODD[k] for k in draw]
    positional: list[Any] = list(right)
    keywords: dict[str, Any] = {}
    chosen = required + [p for p, k in zip([p for p in usable if p not in required], draw[::-1], strict=False) if k % 3 == 0]
    for p, value in zip(chosen, values * 4, strict=False):
        if p.kind is p.POSITIONAL_ONLY or (p in required and not named and p.kind is not p.KEYWORD_ONLY):
            positional.append(value)
        else:
            keywords[p.name] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(br.BrachiateError, UserFunctionError):
            repr(f(*positional, **keywords))


@pytest.fixture(scope="module", autouse=True)
def elsewhere(tmp_path_factory):
    """Files that an odd path names are written to a temporary folder."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    yield
    os.chdir(before)


@settings(max_examples=30)
@given(draw=st.lists(odd, min_size=6, max_size=6), named=st.booleans())
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_raise_only_errors_of_this_package(name, draw, named):
    made, right = FUNCTIONS[name]
    call(made(), tuple(r() for r in right), draw, named)


@settings(max_examples=12)
@given(draw=st.lists(odd, min_size=6, max_size=6), named=st.booleans())
@pytest.mark.parametrize(("name", "method"), METHODS, ids=[f"{n}.{m}" for n, m in METHODS])
def test_methods_raise_only_errors_of_this_package(name, method, draw, named):
    made = OBJECTS[name]()
    call(getattr(made, method), (), draw, named)
    if isinstance(made, br.World):  # it is as usable as before
        with contextlib.suppress(br.BrachiateError):
            br.Simulation(made, dt=0.002).step()


@settings(max_examples=100)
@given(k=odd)
def test_attributes_of_a_world(k):
    """Assignments are checked as arguments are."""
    made = world()
    for name in ("q", "v", "torque", "gravity"):
        with contextlib.suppress(br.BrachiateError):
            setattr(made, name, ODD[k])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: br.check(world()), r"motion: expected a motion, such as br\.load_motion\('walk\.bvh'\).*got <World"),  # type: ignore[arg-type]
        (lambda: br.retarget(5, model()), "motion: expected a motion, .*got 5"),  # type: ignore[arg-type]
        (lambda: br.retarget(motion(), "g1"), r"figure: expected a model, such as br\.figures\.human28\(\).*got 'g1'"),  # type: ignore[arg-type]
        (lambda: br.load_motion(5), "path: expected the path of a motion file as a text, got 5"),  # type: ignore[arg-type]
        (lambda: br.load_model(None), "path: expected the path of a model file as a text, got None"),  # type: ignore[arg-type]
        (lambda: br.Motion(None, [0.0], [[0.0]]), r"figure: expected a model, such as br\.figures\.human28\(\), got None"),  # type: ignore[arg-type]
        (lambda: br.Motion.from_clip(motion()), r"clip: expected a Clip, .*got <Motion 'squat'"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_wrong_types_are_named(call, message):
    with pytest.raises(br.ArgumentError, match=message):
        call()


def test_motion_has_a_short_repr():
    assert repr(motion()) == "<Motion 'squat' of 'squat': 19 frames, 0.6 s, 30 Hz>"
    assert repr(motion().frames(slice(0, 1))) == "<Motion 'squat' of 'squat': 1 frame, 0 s>"
    assert isinstance(motion().clip, Clip)
