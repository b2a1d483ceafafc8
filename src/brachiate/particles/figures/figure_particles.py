"""Rigid figures as particle systems: links become particles with their inertia, joints particles that links share.

A spherical joint is one shared particle, a revolute joint two on its axis. A universal joint is a shared particle and one more link, which
keeps the angle of its axes: between a particle on the first axis, of the parent, and one on the second axis, of the child.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import kinematics, validation
from brachiate.errors import ArgumentError, ModelError
from brachiate.figures import ranges
from brachiate.model.data import Data
from brachiate.model.joints import BALL, FLOAT, TURN, Joint
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.particles.figures.equivalent_masses import BodyParticles, equivalent_masses
from brachiate.particles.figures.joint_angles import JOINTS, fit_poses, joint_coordinates
from brachiate.particles.recording import ParticleRecording
from brachiate.particles.system import ParticleSystem
from brachiate.validation import Array

AXIS_SHARE = 0.5  # distance of particles on the axis of a joint from its center, in radii of gyration of the lighter body


class FigureParticles:
    """Particle system of a figure: see :func:`from_model`."""

    def __init__(self, model: Model, system: ParticleSystem, bodies: list[tuple[Array, BodyParticles]]) -> None:
        self.model, self.system, self._bodies = model, system, bodies

    def particles_of(self, link: str) -> tuple[str, ...]:
        """Names of the particles of a link (of the body it belongs to), those of its joints included."""
        body = validation.lookup(self.model.placements, link, "link", "this figure").body
        if body < 0:
            raise ArgumentError(f"{link!r} is fixed to the ground: it has no particles.")
        return tuple(self.system.particle_name(int(i)) for i in self._bodies[body][0])

    def place(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set positions and velocities of the particles to those of the figure at q (nq,) and v (nv,); None: at rest."""
        x, u = _place(self.model, self._bodies, len(self.system), q, v)
        self.system.positions, self.system.velocities = x, u

    def configurations(self, positions: ArrayLike) -> Array:
        """Configurations (f, nq) of the figure that fit positions of the particles (f, n, 3), body by body."""
        x = validation.reals(positions, "positions", f"positions of shape (f, {len(self.system)}, 3) [m]")
        if x.ndim != 3 or x.shape[1:] != (len(self.system), 3):
            raise ArgumentError(f"positions: expected shape (f, {len(self.system)}, 3) [m], got {x.shape}.")
        tree, q = self.model.tree, np.zeros((len(x), self.model.nq))
        poses = [fit_poses(part.points, part.masses, x[:, own]) for own, part in self._bodies]
        for b, (R, p) in enumerate(poses):
            parent = int(tree.parent[b])
            Rp, pp = poses[parent] if parent >= 0 else (np.eye(3)[None], np.zeros((1, 3)))
            Rj = Rp @ tree.R_parent_joint[b]
            pj = pp + Rp @ tree.p_parent_joint[b]
            inverse = np.swapaxes(Rj, 1, 2)
            place = self.model.joints.get(_joint_name(self.model, b))
            if place is not None:
                q[:, place.q] = joint_coordinates(_joint(self.model, b), inverse @ R, (inverse @ (p - pj)[:, :, None])[:, :, 0])
        return q

    def motion(self, run: ParticleRecording, name: str = "particles") -> Motion:
        """Motion of the figure from a recording of its particles."""
        if not isinstance(run, ParticleRecording) or len(run.structure.particles) != len(self.system):
            raise ArgumentError(
                f"run: expected a recording of the {len(self.system)} particles of this figure, got {validation.short_repr(run)}."
            )
        return Motion(self.model, run.time - run.time[0], self.configurations(run.positions), name)


def from_model(
    model: Model,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    stiffness: float = 1e6,
    damping: float = 0.0,
    gravity: float | ArrayLike = 9.81,
    **more: Any,
) -> FigureParticles:
    """Particle system with the masses, centers of mass and inertias of the links of a figure, exactly, and its joints.

    Every two particles of a link are tied by a spring-damper; joint torques, springs, dampers, limits, and loops of the figure are not
    taken over. It moves as the figure does up to an error that falls with the stiffness.

    Args:
        model: The figure; its joints are fixed, revolute, universal, spherical, or free at the root.
        q: Configuration (nq,); None: the neutral one.
        v: Velocity (nv,); None: at rest.
        stiffness: Of all links [N/m].
        damping: Of all links [N·s/m].
        gravity: As in :class:`ParticleSystem`.
        more: Other arguments of :class:`ParticleSystem`.
    """
    if not isinstance(model, Model):
        raise ArgumentError(f"from_model expects a model, such as br.figures.human28(), got {validation.short_repr(model)}.")
    k = validation.number(stiffness, "stiffness", above=0.0, maximum=ranges.MAX_STIFFNESS)
    c = validation.number(damping, "damping", minimum=0.0, maximum=ranges.MAX_STIFFNESS)
    _check_joints(model)
    names, shared, ties = _joint_particles(model)
    system, bodies = ParticleSystem(gravity=gravity, **more), []
    count = len(names)
    masses = np.zeros(count)
    for b, given in enumerate(shared):
        at = np.array([point for _, point in given]).reshape(-1, 3)
        body = equivalent_masses(*_mass_properties(model, b), at)
        if body is None:
            raise ModelError(
                f"{_body_name(model, b)!r} is a rod or flat, and its joints are beside it: particles cannot have its inertia and share "
                "its joints."
            )
        own = np.array([number for number, _ in given] + list(range(count, count + len(body.points) - len(given))), np.int64)
        names += [f"{_body_name(model, b)}.{n + 1}" for n in range(len(own) - len(given))]
        masses = np.concatenate([masses, np.zeros(len(own) - len(given))])
        masses[own] += body.masses
        count = len(names)
        bodies.append((own, body))
    fixed = np.zeros(count, bool)
    for b, given in enumerate(shared):
        if int(model.tree.parent[b]) < 0 and _joint(model, b).elements and _joint(model, b).elements[0].kind != FLOAT:
            fixed[[number for number, _ in given if names[number].startswith(f"{_joint_name(model, b)}:")]] = True
    x, u = _place(model, bodies, count, model.neutral if q is None else q, v)
    system.add_particles(x, masses, names=names, velocity=u, fixed=fixed)
    pairs, lengths = _springs(bodies, ties)
    system.add_links(pairs, stiffness=k, damping=c, length=lengths)
    return FigureParticles(model, system, bodies)


def _check_joints(model: Model) -> None:
    """Raise an error if the model has joints that particles cannot be joined by."""
    for b in range(len(model.tree.parent)):
        if _joint(model, b).type not in JOINTS or (int(model.tree.parent[b]) >= 0 and _joint(model, b).type == "free"):
            raise ModelError(
                f"joint {_joint_name(model, b)!r} is {_joint(model, b).type}: particles can be joined by {', '.join(JOINTS[:4])} joints, "
                "and a root can be free."
            )


def _springs(bodies: list[tuple[Array, BodyParticles]], ties: list[tuple[int, int, float]]) -> tuple[Array, Array]:
    """Pairs of particles of all bodies, each pair once, with their distances, and the ties of universal joints."""
    found: dict[tuple[int, int], float] = {}
    for own, body in bodies:
        for i in range(len(own)):
            for j in range(i):
                pair = (int(min(own[i], own[j])), int(max(own[i], own[j])))
                found.setdefault(pair, float(np.linalg.norm(body.points[i] - body.points[j])))
    for i, j, length in ties:
        found[i, j] = length
    return np.array(list(found)), np.array(list(found.values()))


def _joint_particles(model: Model) -> tuple[list[str], list[list[tuple[int, Array]]], list[tuple[int, int, float]]]:
    """Particles of joints: names, (particle, point) by body, and ties (particle, particle, distance) of universal joints."""
    tree, names, ties = model.tree, [], []
    shared: list[list[tuple[int, Array]]] = [[] for _ in tree.parent]
    for b, parent in enumerate(map(int, tree.parent)):
        joint, name = _joint(model, b), _joint_name(model, b)
        kinds = [element.kind for element in joint.elements]
        if kinds in ([], [FLOAT]):
            continue
        anchor = np.asarray(joint.elements[0].anchor, float)
        reach = AXIS_SHARE * min(_gyration(model, i) for i in (b, parent) if i >= 0)

        def add(label: str, point: Array, bodies: tuple[int, ...], name: str = name, b: int = b) -> int:
            names.append(f"{name}:{label}")
            for body in bodies:
                # At angle zero the child's frame is the joint's frame in the parent.
                own = point if body == b else tree.p_parent_joint[b] + tree.R_parent_joint[b] @ point
                shared[body].append((len(names) - 1, own))
            return len(names) - 1

        both = (b,) if parent < 0 else (parent, b)
        axes = [np.asarray(element.axis, float) for element in joint.elements if element.kind == TURN]
        if kinds == [BALL]:
            add("center", anchor, both)
        elif kinds == [TURN]:
            add("axis 1", anchor + reach * axes[0], both)
            add("axis 2", anchor - reach * axes[0], both)
        else:
            if parent < 0:
                raise ModelError(
                    f"joint {name!r} is universal and holds the root: give the ground a link of its own, or use another joint."
                )
            add("center", anchor, both)
            first, second = add("first axis", anchor + reach * axes[0], (parent,)), add("second axis", anchor + reach * axes[1], (b,))
            ties.append((first, second, reach * float(np.linalg.norm(axes[0] - axes[1]))))
    return names, shared, ties


def _place(model: Model, bodies: list[tuple[Array, BodyParticles]], count: int, q: ArrayLike, v: ArrayLike | None) -> tuple[Array, Array]:
    """Positions and velocities (n, 3) of the particles; those of joints as of their last body."""
    data, x, u = Data(model), np.zeros((count, 3)), np.zeros((count, 3))
    data.assign(q=q, v=np.zeros(model.nv) if v is None else v)
    kinematics.update_motion(data)
    work = data.work
    for b, (own, body) in enumerate(bodies):
        r = work.x[b] + body.points @ work.R[b].T
        x[own] = work.origin[model.tree.root[b]] + r
        u[own] = work.V[b, 3:] + np.cross(work.V[b, :3], r)
    return x, u


def _mass_properties(model: Model, b: int) -> tuple[float, Array, Array]:
    """Mass, center of mass, and inertia about it of a body, in its axes."""
    m, *rest = model.tree.inertia[b]
    xx, xy, xz, yy, yz, zz = rest[3:]
    if not m > 0.0:
        raise ModelError(f"{_body_name(model, b)!r} has no mass, so no particle can stand for it.")
    return float(m), np.array(rest[:3]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _gyration(model: Model, b: int) -> float:
    """Radius of gyration of a body [m]."""
    m, _, inertia = _mass_properties(model, b)
    return float(np.sqrt(0.5 * np.trace(inertia) / m))


def _link_of(model: Model, b: int) -> Any:
    """Link whose joint moves body b."""
    return next(link for link in model.links.values() if model.placements[link.name].body == b and link.joint.elements)


def _joint(model: Model, b: int) -> Joint:
    return _link_of(model, b).joint


def _joint_name(model: Model, b: int) -> str:
    return _link_of(model, b).joint_name


def _body_name(model: Model, b: int) -> str:
    return _link_of(model, b).name
