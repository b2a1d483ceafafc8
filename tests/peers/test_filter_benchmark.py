"""Benchmark of the filter: timed functions are found by name, and the peer solves the same problems."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from brachiate import figures, procedural
from brachiate.filter.offline import TRACKING_MODES, filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.retargeting.retarget import retarget

pin = pytest.importorskip("pinocchio")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield importlib.import_module("filter")
    for name in set(sys.modules) - before:
        if (BENCHMARKS / f"{name}.py").exists():
            del sys.modules[name]


@pytest.fixture(scope="module")
def reference():
    return make_reference(retarget(procedural.sample_motion("walk", speed=1.0, step_length=0.6, seconds=0.6), figures.human28()).motion)


def test_parts_of_a_step_are_timed_and_restored(benchmark, reference):
    place, method = benchmark.find_part("control")
    before = getattr(place, method)
    with benchmark.time_parts() as call_times:
        filter_motion(reference, mode=TRACKING_MODES[0], progress=False)
    assert getattr(place, method) is before
    steps = benchmark.StepTimes(call_times)
    assert len(steps.parts["whole"]) == len(reference) - 1
    for part in ("state", "qp", "simulate"):
        assert (steps.calls[part] == 1).all(), part
    inside = steps.parts["state"] + steps.parts["plan"] + steps.parts["qp"]
    assert (inside < steps.parts["control"]).all()
    assert (steps.parts["control"] + steps.parts["simulate"] < steps.parts["whole"] + 1e-9).all()
    assert (steps.parts["solver"] <= steps.parts["plan"]).all()
    assert 0 < len(steps.of("plan")) < len(reference)
    assert not steps.calls["input"].any()
    assert not steps.calls["predict"].any()


def test_online_steps_have_targets(benchmark, reference):
    with benchmark.time_parts() as call_times:
        filter_motion(reference, mode="online", latency=0.0, progress=False)
    steps = benchmark.StepTimes(call_times)
    assert (steps.calls["input"] == 1).all()
    assert (steps.calls["predict"] == steps.calls["plan"]).all()
    assert np.allclose(steps.of("step") + steps.parts["plan"] + steps.parts["predict"], steps.parts["whole"])
    planned = steps.calls["plan"] > 0
    assert (steps.of("plan") > steps.of("predict")).all()
    assert len(steps.of("plan")) == planned.sum()
    lines = benchmark.mode_rows("online", steps, reference.dt)
    assert {line["peer"] for line in lines} == {"target", "-"}
    assert {line["task"] for line in lines} == set(benchmark.LABELS.values())
    assert "one step behind" in lines[0]["note"]


def test_missing_functions_are_named(benchmark, monkeypatch):
    monkeypatch.setitem(benchmark.PARTS, "plan", "brachiate.filter.offline:DynamicsFilter.foresee")
    with pytest.raises(SystemExit, match=r"DynamicsFilter\.foresee does not exist.*PARTS"):
        benchmark.find_part("plan")


def test_the_peer_has_the_same_body_and_states(benchmark, reference, tmp_path):
    states = benchmark.WalkStates(reference)
    with states.record(*benchmark.find_part("control")):
        filter_motion(reference, mode=TRACKING_MODES[0], progress=False)
    states.write(tmp_path)
    model = pin.buildModelFromXML((tmp_path / "robot.urdf").read_text(), pin.JointModelFreeFlyer())
    data, settings = model.createData(), json.loads((tmp_path / "settings.json").read_text())
    with np.load(tmp_path / "states.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    assert model.nv == reference.figure.nv
    assert sorted(k for _, hinges in settings["hinges"] for k in hinges) == list(range(6, model.nv))
    names = [f"v{k}" for k in range(6, model.nv)]
    q_at, v_at = (np.array([getattr(model.joints[model.getJointId(name)], f"idx_{x}") for name in names]) for x in "qv")
    frames = [model.getFrameId(f"sole{n}") for n in range(2)]
    for i in range(0, len(states.step), 20):
        q, v, a = np.empty(model.nq), np.empty(model.nv), np.empty(model.nv)
        q[:7], q[q_at] = arrays["base"][i], arrays["angle"][i][6:]
        v[:6], v[v_at] = np.split(arrays["rate"][i], [6])
        a[:6], a[v_at] = np.split(arrays["acceleration"][i], [6])
        load = pin.rnea(model, data, q, v, a)
        # A wrong mass, length or rotation changes the load of every joint above it
        assert np.abs(np.concatenate((load[:6], load[v_at])) - arrays["inverse_dynamics"][i]).max() < 1e-9 * states.max_torque
        pin.framesForwardKinematics(model, data, q)
        for n, frame in enumerate(frames):
            if arrays["contact"][i, n] == 1:  # flat
                assert abs(data.oMf[frame].translation[2]) < 1e-3
    assert {name: these.any() for name, these in states.supports.items()} == {"single support": True, "double support": True}
