"""Kinematics, dynamics, momentum and energy of random trees against Pinocchio.

Fails if a joint rotates or slides in the wrong direction, an offset, anchor or inertia is lost or in the wrong frame, or
velocities have the wrong order or axes: only the model description is shared.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.random_models import Seeded, models, seeded

from brachiate import Data, dynamics
from brachiate.kinematics import frame_motion, jacobian, pose, update_motion
from brachiate.validation import Array

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (pip install brachiate[peers])")

from tests.peers.pinocchio_model import GRAVITY, Peer  # noqa: E402


class Case:
    """A model and a state, in the package and in Pinocchio."""

    def __init__(self, given: Seeded) -> None:
        self.model, self.state, self.rng = given
        self.data = Data(self.model, GRAVITY)
        self.peer = Peer(self.model)
        self.q, self.v, self.a = self.peer.q(self.state.q), self.peer.v(self.state.v), self.peer.v(self.state.a)

    def start(self) -> None:
        """Set the state of our data and compute its kinematics."""
        self.data.assign(**self.state._asdict())
        update_motion(self.data)

    @property
    def theirs(self) -> tuple[pin.Model, pin.Data]:
        return self.peer.model, self.peer.data

    @property
    def speed(self) -> float:
        return float(np.linalg.norm(self.state.v))

    def ours(self, theirs: Array) -> Array:
        """Reorder the last axis of a result of Pinocchio to our coordinates."""
        return np.asarray(theirs)[..., self.peer.v_at]

    def ours_of_six_rows(self, theirs: Array) -> Array:
        """The same for a matrix of six rows, which Pinocchio flattens if it has one column."""
        return self.ours(np.reshape(theirs, (6, self.model.nv)))


def poses(case: Case) -> tuple[Array, Array]:
    case.start()
    pin.framesForwardKinematics(*case.theirs, case.q)
    ours = [pose(case.data, frame) for frame in case.model.placements.values()]
    theirs = [case.peer.data.oMf[case.peer.frames[name]] for name in case.model.placements]
    return np.array([np.c_[p.rotation, p.position] for p in ours]), np.array([np.c_[p.rotation, p.translation] for p in theirs])


def mass_matrix(case: Case) -> tuple[Array, Array]:
    ours = dynamics.mass_matrix(case.data, case.state.q)
    A = np.triu(pin.crba(*case.theirs, case.q))
    A = A + np.triu(A, 1).T
    return ours, A[np.ix_(case.peer.v_at, case.peer.v_at)]


def bias(case: Case) -> tuple[Array, Array]:
    return dynamics.bias(case.data, case.state.q, case.state.v), case.ours(pin.nonLinearEffects(*case.theirs, case.q, case.v))


def inverse_dynamics(case: Case) -> tuple[Array, Array]:
    return dynamics.inverse_dynamics(case.data, *case.state), case.ours(pin.rnea(*case.theirs, case.q, case.v, case.a))


def jacobians(case: Case) -> tuple[Array, Array]:
    case.start()
    pin.computeJointJacobians(*case.theirs, case.q)
    pin.updateFramePlacements(*case.theirs)
    ours = [jacobian(case.data, frame) for frame in case.model.placements.values()]
    theirs = [pin.getFrameJacobian(*case.theirs, case.peer.frames[n], pin.LOCAL_WORLD_ALIGNED) for n in case.model.placements]
    return np.array(ours), np.array([case.ours_of_six_rows(J) for J in theirs])


def velocities(case: Case) -> tuple[Array, Array]:
    case.start()
    pin.forwardKinematics(*case.theirs, case.q, case.v)
    theirs = [pin.getFrameVelocity(*case.theirs, case.peer.frames[n], pin.LOCAL_WORLD_ALIGNED).vector for n in case.model.placements]
    return np.array([frame_motion(case.data, frame)[0] for frame in case.model.placements.values()]), np.array(theirs)


def jacobian_rates_times_v(case: Case) -> tuple[Array, Array]:
    ours, theirs = _accelerations(case, np.zeros(case.model.nv), np.zeros(case.model.nv))
    # Without rotation both are round-off of the size of velocity squared.
    return np.append(ours, case.speed**2), np.append(theirs, case.speed**2)


def accelerations(case: Case) -> tuple[Array, Array]:
    return _accelerations(case, case.state.a, case.a)


def _accelerations(case: Case, a: Array, their_a: Array) -> tuple[Array, Array]:
    case.data.assign(q=case.state.q, v=case.state.v, a=a)
    ours = [frame_motion(case.data, frame)[1] for frame in case.model.placements.values()]
    pin.forwardKinematics(*case.theirs, case.q, case.v, their_a)
    theirs = [
        pin.getFrameClassicalAcceleration(*case.theirs, case.peer.frames[n], pin.LOCAL_WORLD_ALIGNED).vector for n in case.model.placements
    ]
    return np.array(ours), np.array(theirs)


def centroidal_matrix(case: Case) -> tuple[Array, Array]:
    case.start()
    pin.ccrba(*case.theirs, case.q, case.v)
    return dynamics.centroidal_momentum_matrix(case.data), case.ours_of_six_rows(case.peer.data.Ag)


def momentum(case: Case) -> tuple[Array, Array]:
    case.start()
    pin.ccrba(*case.theirs, case.q, case.v)
    total = dynamics.totals(case.data)
    return np.concatenate([total.momentum, total.angular_momentum]), case.peer.data.hg.vector


def center_of_mass(case: Case) -> tuple[Array, Array]:
    case.start()
    pin.centerOfMass(*case.theirs, case.q, case.v)
    total = dynamics.totals(case.data)
    return np.array([total.center, total.velocity]), np.array([case.peer.data.com[0], case.peer.data.vcom[0]])


def kinetic_energy(case: Case) -> tuple[Array, Array]:
    case.start()
    # Pinocchio 4.1 includes the energy of some rotors only, so it is computed without them and added here.
    rotors = 0.5 * case.peer.model.armature @ case.v**2
    case.peer.model.armature = np.zeros(case.model.nv)
    return np.array(dynamics.totals(case.data).kinetic), np.array(pin.computeKineticEnergy(*case.theirs, case.q, case.v) + rotors)


def potential_energy(case: Case) -> tuple[Array, Array]:
    case.start()
    # Both are relative to the world's origin; terms may cancel, so the tolerance is relative to their sizes.
    size = abs(np.linalg.norm(GRAVITY)) * sum(
        body[0] * np.linalg.norm(case.data.work.inertia[i, 1:4] / max(body[0], 1e-300)) for i, body in enumerate(case.model.tree.inertia)
    )
    ours, theirs = dynamics.totals(case.data).potential, pin.computePotentialEnergy(*case.theirs, case.q)
    return np.array([ours, size]), np.array([theirs, size])


QUANTITIES = (
    poses, mass_matrix, bias, inverse_dynamics, jacobians, velocities, jacobian_rates_times_v, accelerations, centroidal_matrix, momentum,
    center_of_mass, kinetic_energy, potential_energy,
)  # fmt: skip
TOLERANCE = 1e-10  # of the largest entry: sums of about 1e4 terms with 1e-16 each, times 1e2


def difference(ours: Array, theirs: Array) -> float:
    """Largest difference, relative to the largest entry."""
    return float(np.abs(ours - theirs).max(initial=0.0) / max(np.abs(theirs).max(initial=0.0), 1e-12))


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda f: f.__name__)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(models())
def test_agrees_with_pinocchio(quantity, given):
    case = Case(given)
    assert difference(*quantity(case)) < TOLERANCE


def forward_dynamics(case: Case) -> tuple[Array, Array, float]:
    """Our accelerations, Pinocchio's, and the round-off of torques ε |τ| / λ, λ the smallest eigenvalue of the mass matrix."""
    tau = dynamics.inverse_dynamics(case.data, *case.state).copy()
    least = float(np.linalg.eigvalsh(dynamics.mass_matrix(case.data, case.state.q))[0])
    ours = dynamics.forward_dynamics(case.data, case.state.q, case.state.v, tau).copy()
    theirs = case.ours(pin.aba(*case.theirs, case.q, case.v, case.peer.v(tau)))
    return ours, theirs, float(np.finfo(float).eps * np.linalg.norm(tau) / least)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(models())
def test_forward_dynamics_agrees_with_pinocchio(given):
    ours, theirs, round_off = forward_dynamics(Case(given))
    assert np.abs(ours - theirs).max() < TOLERANCE * np.abs(theirs).max() + 100 * round_off


@pytest.mark.parametrize("kinds", [("spherical",), ("spherical", "revolute"), ("free",), ("revolute",)], ids="+".join)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(given=models())
def test_pinocchios_inverse_dynamics_inverts_forward_dynamics_of_long_chains(kinds, given):
    # Each joint type has its own code path in the articulated-body algorithm. Compared with Pinocchio's inverse dynamics, not its
    # forward dynamics, whose error on chains of 60 spherical joints exceeds the accelerations themselves.
    case = Case(seeded(int(given.rng.integers(2**32)), len(given.model.links), kinds=kinds, massless=False))
    tau = case.rng.normal(size=case.model.nv)
    a = dynamics.forward_dynamics(case.data, case.state.q, case.state.v, tau).copy()
    found = case.ours(pin.rnea(*case.theirs, case.q, case.v, case.peer.v(a)))
    A = dynamics.mass_matrix(case.data, case.state.q)
    b = dynamics.bias(case.data, case.state.q, case.state.v)
    assert np.abs(found - tau).max() < TOLERANCE * max((np.abs(A) @ np.abs(a)).max(), np.abs(b).max())
