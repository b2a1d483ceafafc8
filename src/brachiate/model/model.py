"""Model: a constant description of a kinematic tree, by names, and the flat arrays made from it."""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from brachiate import validation
from brachiate.deprecation import renamed_method
from brachiate.errors import ArgumentError, ModelError
from brachiate.model.arrays import Tree
from brachiate.model.flatten import Placement, flatten
from brachiate.model.joints import BALL, ELEMENT_NQ, ELEMENT_NV, FLOAT
from brachiate.model.link import Actuator, ContactPair, Coupling, Link, Loop, Site, check_inertia
from brachiate.validation import Array

Part = TypeVar("Part", Link, Site, Loop, Coupling, Actuator)


@dataclass(frozen=True)
class JointSlices:
    """Indices of a joint: slices into q and v, and its child link."""

    link: str
    q: slice
    v: slice


class Model:
    """Kinematic tree of named links under one inertial frame. It is constant.

    Build one with :class:`~brachiate.ModelBuilder`, read one with :func:`~brachiate.load_model`, or take one from
    :mod:`brachiate.figures`.
    """

    def __init__(
        self,
        name: str,
        links: Iterable[Link],
        sites: Iterable[Site] = (),
        loops: Iterable[Loop] = (),
        couplings: Iterable[Coupling] = (),
        actuators: Iterable[Actuator] = (),
        poses: Mapping[str, Mapping[str, Any]] | None = None,
        ignored_contacts: Iterable[tuple[str, str]] = (),
        contact_pairs: Iterable[ContactPair] = (),
    ) -> None:
        self.name = name
        ordered = in_order(list(links))
        self.links: Mapping[str, Link] = by_name("link", ordered)
        self.sites: Mapping[str, Site] = by_name("site", sites)
        self.loops = tuple(by_name("loop", loops).values())
        self.couplings = tuple(by_name("coupling", couplings).values())
        self.actuators: Mapping[str, Actuator] = by_name("actuator", actuators)
        self.ignored_contacts = tuple(ignored_contacts)  #: pairs of links whose shapes do not collide
        self.contact_pairs = tuple(contact_pairs)  #: pairs of shapes that collide although a filter excludes them
        for link in ordered:
            check_inertia(link.name, link.mass, link.inertia)
        self._name_coordinates(ordered)
        self._check_references()
        self.tree: Tree
        self.placements: Mapping[str, Placement]
        self.tree, self.placements = flatten(ordered, self.joints)
        for array in self.tree:
            validation.frozen(array)
        self.poses: Mapping[str, Array] = MappingProxyType(
            {pose: validation.frozen(self.configuration(values)) for pose, values in (poses or {}).items()}
        )

    def _name_coordinates(self, links: list[Link]) -> None:
        """Assign every joint its slices of q and v, and every velocity its name."""
        joints: dict[str, JointSlices] = {}
        coordinates: list[str] = []
        nq = nv = 0
        for link in links:
            joint = link.joint
            if joint.nv:
                if link.joint_name in joints:
                    raise ModelError(f"Two joints are named {link.joint_name!r} (links {joints[link.joint_name].link!r}, {link.name!r}).")
                joints[link.joint_name] = JointSlices(link.name, slice(nq, nq + joint.nq), slice(nv, nv + joint.nv))
                coordinates += joint.coordinate_names(link.joint_name)
            nq, nv = nq + joint.nq, nv + joint.nv
        twice = validation.first_duplicate(coordinates)
        if twice:
            raise ModelError(f"Two coordinates are named {twice!r}. Give the joints different names.")
        self.nq, self.nv = nq, nv
        self.joints: Mapping[str, JointSlices] = MappingProxyType(joints)
        self.coordinates = tuple(coordinates)
        self.coordinate_index: Mapping[str, int] = MappingProxyType({c: i for i, c in enumerate(coordinates)})

    def _check_references(self) -> None:
        owner = f"model {self.name!r}"
        for site in self.sites.values():
            validation.lookup(self.links, site.link, "link", owner)
            if site.name in self.links:
                raise ModelError(f"A site and a link are both named {site.name!r}: frames are looked up by name, so rename one.")
        frames = dict.fromkeys(("world", *self.links))
        for loop in self.loops:
            for end in (loop.first, loop.second):
                validation.lookup(frames, end, "link", owner)
        for coupling in self.couplings:
            for coordinate in (coupling.coordinate, coupling.of):
                if coordinate is not None:
                    validation.lookup(self.coordinate_index, coordinate, "coordinate", owner)
        for actuator in self.actuators.values():
            validation.lookup(self.coordinate_index, actuator.coordinate, "coordinate", owner)
        for link in (link for pair in self.ignored_contacts for link in pair):
            validation.lookup(self.links, link, "link", owner)
        for pair in self.contact_pairs:
            for link, name in ((pair.first, pair.first_shape), (pair.second, pair.second_shape)):
                shapes = {shape.name: shape for shape in validation.lookup(self.links, link, "link", owner).shapes if shape.name}
                if not validation.lookup(shapes, name, "shape", f"link {link!r}").collides:
                    raise ModelError(f"A contact pair has the shape {name!r} of {link!r}, which has collides=False.")

    @cached_property
    def neutral(self) -> Array:
        """The configuration with every joint at zero: (nq,)."""
        return self._gather("neutral")

    @cached_property
    def mass(self) -> float:
        """Total mass of what can move [kg]."""
        return float(self.tree.inertia[:, 0].sum())

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper limit of every coordinate: two (nv,); infinite where there is none."""
        return self._gather("lower"), self._gather("upper")

    @cached_property
    def effort(self) -> Array:
        """Largest torque or force of every coordinate's motor: (nv,) [N·m or N]."""
        return self._gather("effort")

    @cached_property
    def speed(self) -> Array:
        """Largest speed of every coordinate's motor: (nv,) [rad/s or m/s]; infinite where there is no limit."""
        return self._gather("speed")

    def _gather(self, what: str) -> Array:
        return validation.frozen(np.concatenate([getattr(link.joint, what) for link in self.links.values()] or [np.zeros(0)]))

    def configuration(self, values: Mapping[str, Any], base: Array | None = None) -> Array:
        """Return a configuration from values by joint or coordinate name, the rest neutral or as in ``base``."""
        q = self.neutral.copy() if base is None else validation.numbers(base, (self.nq,), "base")
        for name, value in validation.mapping(values, "configuration", "values by joint, such as {'knee': 0.3}").items():
            place = self.q_slice(name)
            q[place] = self._value(name, value)
        return q

    def _value(self, name: str, value: Any) -> Array:
        what = f"value of {name!r}"
        if name in self.joints:
            return self.links[self.joints[name].link].joint.coordinates(value, what)
        return validation.numbers(value, (1,), what)

    def q_slice(self, name: str) -> slice:
        """Slice of q of a joint, or of a scalar coordinate."""
        return validation.lookup(self._slices, name, "joint", f"model {self.name!r}")

    @cached_property
    def _slices(self) -> Mapping[str, slice]:
        joints = {name: joined.q for name, joined in self.joints.items()}
        return joints | {name: slice(q, q + 1) for name, q in self.scalar_coordinates.items() if name not in joints}

    @cached_property
    def scalar_coordinates(self) -> Mapping[str, int]:
        """Index in q of every scalar coordinate."""
        places: dict[str, int] = {}
        q = v = 0
        for link in self.links.values():
            for element in link.joint.elements:
                if element.kind not in (BALL, FLOAT):
                    places[self.coordinates[v]] = q
                q, v = q + ELEMENT_NQ[element.kind], v + ELEMENT_NV[element.kind]
        return MappingProxyType(places)

    def with_springs(self, stiffness: float, pose: str | Mapping[str, Any], damping: float | None = None) -> Model:
        """Return this model with springs in all joints except free ones.

        Args:
            stiffness: Of the springs [N·m/rad or N/m].
            pose: Rest position: a named pose, or values by joint, the others zero.
            damping: Of the joints [N·m·s/rad or N·s/m]; by default unchanged.
        """
        stiffness = validation.number(stiffness, "stiffness", minimum=0.0, maximum=1e12)
        rest = validation.lookup(self.poses, pose, "pose", f"model {self.name!r}") if isinstance(pose, str) else self.configuration(pose)
        links = []
        for link in self.links.values():
            joint = copy.copy(link.joint)
            if joint.nv and not any(e.kind == FLOAT for e in joint.elements):
                joint.stiffness, joint.rest = np.full(joint.nv, stiffness), rest[self.joints[link.joint_name].q]
                if damping is not None:
                    joint.damping = np.full(joint.nv, validation.number(damping, "damping", minimum=0.0, maximum=1e12))
            links.append(replace(link, joint=joint))
        return Model(self.name, links, *self._parts()[1:])

    def with_scaled_effort(self, factor: float) -> Model:
        """Return this model with effort limits scaled by a factor; infinite: without effort limits."""
        if not isinstance(factor, (int, float, np.number)) or not factor >= 0.0:
            raise ArgumentError(f"factor: expected a number of at least 0, or infinity, got {validation.short_repr(factor)}.")
        links = []
        for link in self.links.values():
            joint = copy.copy(link.joint)
            joint.effort = np.where(joint.effort > 0.0, factor * np.maximum(joint.effort, 1e-300), 0.0)  # 0 stays 0
            links.append(replace(link, joint=joint))
        return Model(self.name, links, *self._parts()[1:])

    sprung = renamed_method("sprung", "with_springs")
    stronger = renamed_method("stronger", "with_scaled_effort")

    def __reduce__(self) -> Any:
        """Copy and pickle the parts."""
        return Model, (self.name, *self._parts())

    def _parts(self) -> tuple[Any, ...]:
        poses = {name: {joint: q[place.q] for joint, place in self.joints.items()} for name, q in self.poses.items()}
        links, sites, actuators = (list(table.values()) for table in (self.links, self.sites, self.actuators))
        return links, sites, self.loops, self.couplings, actuators, poses, self.ignored_contacts, self.contact_pairs

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        return f"<Model {self.name!r}: {len(self.links)} links, {len(self.joints)} joints, {self.nv} dof, {self.mass:.4g} kg>"


def add(table: dict[str, Part], kind: str, part: Part) -> None:
    """Add a part under its name; raise an error if the name is in use."""
    if part.name in table:
        raise ModelError(f"Two {kind}s are named {part.name!r}. Names must be unique within a model.")
    table[part.name] = part


def by_name(kind: str, parts: Iterable[Part]) -> Mapping[str, Part]:
    """Return parts of one kind by their names."""
    table: dict[str, Part] = {}
    for part in parts:
        add(table, kind, part)
    return MappingProxyType(table)


def in_order(links: list[Link]) -> list[Link]:
    """Return the links with parents before children, otherwise in the given order; raise an error if they are not a tree."""
    table = by_name("link", links)
    for link in links:
        if link.parent is not None:
            validation.lookup(table, link.parent, "link", f"this model (parent of {link.name!r})")
    children: dict[str | None, list[int]] = {}
    for i, link in enumerate(links):
        children.setdefault(link.parent, []).append(i)
    ready = list(children.get(None, []))
    heapq.heapify(ready)
    ordered: list[Link] = []
    while ready:
        link = links[heapq.heappop(ready)]
        ordered.append(link)
        for child in children.get(link.name, []):
            heapq.heappush(ready, child)
    if len(ordered) < len(links):
        placed = {link.name for link in ordered}
        left = [name for name in table if name not in placed]
        raise ModelError(
            f"These links form a cycle: {', '.join(left)}. A model is a tree; close loops with loop(...), or connect the links in a world."
        )
    return ordered
