"""Model builder: describe a model link by link, by name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError, ModelError
from brachiate.model.joints import Fixed, Joint
from brachiate.model.link import ACTUATOR_KINDS, Actuator, ContactPair, Coupling, Link, Loop, Site, check_loop_joint
from brachiate.model.model import Model, add
from brachiate.model.shapes import Shape
from brachiate.validation import Array

WATER = 1000.0  # [kg/m³]
_FRAMES = ("link", "joint", "site", "part")  # kinds whose names must not be 'world'


class ModelBuilder:
    """Collect links, sites, loops and poses; ``build()`` checks them together and freezes them.

    Example:
        >>> b = ModelBuilder("pendulum")
        >>> b.link("rod", joint=Revolute("y"), mass=1.0, center=(0, 0, -0.5), inertia=(0.1, 0.1, 0.001))
        >>> model = b.build()
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._links: dict[str, Link] = {}
        self._sites: dict[str, Site] = {}
        self._loops: dict[str, Loop] = {}
        self._couplings: dict[str, Coupling] = {}
        self._actuators: dict[str, Actuator] = {}
        self._poses: dict[str, Mapping[str, Any]] = {}
        self._ignored_contacts: list[tuple[str, str]] = []
        self._contact_pairs: list[ContactPair] = []
        self._included: set[str] = set()

    def link(
        self,
        name: str,
        *,
        parent: str | None = None,
        joint: Joint | None = None,
        joint_name: str | None = None,
        at: ArrayLike = (0, 0, 0),
        rotation: ArrayLike | None = None,
        mass: float | None = None,
        center: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        shapes: Shape | Sequence[Shape] = (),
        density: float = WATER,
    ) -> None:
        """Add a link.

        Args:
            name: Its name, unique in the model, without '/'.
            parent: Its parent link; None is the inertial frame.
            joint: Joint to the parent; by default it is fixed.
            joint_name: The joint's name, by default the link's.
            at: Position of the joint in the parent, at zero [m].
            rotation: Orientation of the joint in the parent: quaternion (w, x, y, z) or matrix.
            mass: Mass [kg]. Without it, that of the shapes at ``density``.
            center: Center of mass in the link [m]. Without it, that of the shapes.
            inertia: About the center of mass, in link axes: three principal moments or a 3x3 matrix [kg·m²]. Without it, that of
                the shapes scaled to ``mass``.
            shapes: Visual and collision geometry.
            density: Of the shapes [kg/m³], where ``mass`` is not given.
        """
        _name(name, "link")
        if joint is not None and not isinstance(joint, Joint):
            raise ArgumentError(f"joint of {name!r}: expected a joint such as Revolute('y'), got {joint!r}.")
        solids = _shapes(name, shapes)
        m, c, i = _mass_properties(name, mass, center, inertia, solids, density)
        add(
            self._links,
            "link",
            Link(
                name=name,
                parent=parent,
                joint=joint if joint is not None else Fixed(),
                joint_name=_name(joint_name, "joint") if joint_name is not None else name,
                position=validation.vector(at, f"position of {name!r}"),
                rotation=validation.rotation_matrix(rotation, f"rotation of {name!r}"),
                mass=m,
                center=c,
                inertia=i,
                shapes=solids,
            ),
        )

    def site(self, name: str, link: str, at: ArrayLike = (0, 0, 0), rotation: ArrayLike | None = None) -> None:
        """Name a frame in a link."""
        _name(name, "site")
        place = validation.vector(at, f"position of site {name!r}")
        add(self._sites, "site", Site(name, link, place, validation.rotation_matrix(rotation, f"rotation of site {name!r}")))

    def loop(
        self,
        name: str,
        joint: Joint,
        first: str,
        second: str,
        *,
        first_at: ArrayLike = (0, 0, 0),
        first_rotation: ArrayLike | None = None,
        second_at: ArrayLike = (0, 0, 0),
        second_rotation: ArrayLike | None = None,
    ) -> None:
        """Close a kinematic loop by a joint between a frame of the first link and one of the second (either may be ``world``)."""
        _name(name, "loop")
        check_loop_joint(joint, f"loop {name!r}")
        if first == second:
            raise ModelError(f"Loop {name!r} connects link {first!r} to itself.")
        add(
            self._loops,
            "loop",
            Loop(
                name, joint, first, second,
                validation.vector(first_at, f"first point of loop {name!r}"),
                validation.rotation_matrix(first_rotation, f"first rotation of loop {name!r}"),
                validation.vector(second_at, f"second point of loop {name!r}"),
                validation.rotation_matrix(second_rotation, f"second rotation of loop {name!r}"),
            ),
        )  # fmt: skip

    def couple(self, name: str, coordinate: str, of: str | None, coefficients: Sequence[float]) -> None:
        """Couple a coordinate to another by a polynomial, coefficients from the constant one up."""
        _name(name, "coupling")
        if coordinate == of:
            raise ModelError(f"Coupling {name!r} couples coordinate {of!r} to itself. Give another, or None to hold it at a value.")
        what, expected = f"coefficients of coupling {name!r}", "one number or more in a row, such as (0, 1)"
        given = validation.reals(coefficients, what, expected)
        if given.ndim != 1 or not len(given):
            raise ArgumentError(f"{what}: expected {expected}, got {validation.short_repr(coefficients)}.")
        add(self._couplings, "coupling", Coupling(name, coordinate, of, tuple(validation.numbers(given, given.shape, what).tolist())))

    def actuator(
        self,
        name: str,
        coordinate: str,
        gear: float = 1.0,
        kind: str = "motor",
        control_range: tuple[float, float] = (-np.inf, np.inf),
        force_range: tuple[float, float] = (-np.inf, np.inf),
        gain: float = 1.0,
        bias: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        """Put a motor on a coordinate; see :class:`~brachiate.model.link.Actuator`."""
        _name(name, "actuator")
        x, y, z = validation.vector(bias, f"bias of actuator {name!r}")
        add(
            self._actuators,
            "actuator",
            Actuator(
                name,
                coordinate,
                gear=validation.number(gear, f"gear of actuator {name!r}"),
                kind=validation.one_of(kind, ACTUATOR_KINDS, f"kind of actuator {name!r}"),
                control_range=validation.interval(control_range, f"control range of actuator {name!r}"),
                force_range=validation.interval(force_range, f"force range of actuator {name!r}"),
                gain=validation.number(gain, f"gain of actuator {name!r}"),
                bias=(float(x), float(y), float(z)),
            ),
        )

    def pose(self, name: str, values: Mapping[str, Any]) -> None:
        """Add a named pose: values by joint."""
        _name(name, "pose")
        if name in self._poses:
            raise ModelError(f"Two poses are named {name!r}. Names must be unique within a model.")
        self._poses[name] = copy.deepcopy(dict(validation.mapping(values, f"pose {name!r}", "values by joint, such as {'knee': 0.3}")))

    def ignore_contact(self, link: str, other: str) -> None:
        """Ignore contact between two links, apart from contact pairs of their shapes."""
        self._ignored_contacts.append((link, other))

    def contact_pair(self, link: str, shape: str, other: str, other_shape: str, friction: float | None = None) -> None:
        """Let two shapes collide, given by link and name, that contype and conaffinity, a joint or their overlap would exclude.

        Args:
            link: Link of the first shape.
            shape: Name of the first shape.
            other: Link of the second shape.
            other_shape: Name of the second shape.
            friction: Coefficient of this pair; by default that of the materials.
        """
        self._contact_pairs.append(ContactPair(link, shape, other, other_shape, friction))

    def build(self) -> Model:
        """Check the parts together and return the constant model."""
        return Model(
            self.name,
            self._links.values(),
            self._sites.values(),
            self._loops.values(),
            self._couplings.values(),
            self._actuators.values(),
            self._poses,
            self._ignored_contacts,
            self._contact_pairs,
        )

    def include(self, prefix: str, model: Model, at: ArrayLike = (0, 0, 0), rotation: ArrayLike | None = None) -> None:
        """Add a whole model, its names prefixed by ``prefix/``, at a position and orientation of the inertial frame."""
        _name(prefix, "part")
        if not isinstance(model, Model):
            raise ArgumentError(f"include expects a model, such as brachiate.figures.human28(), got {validation.short_repr(model)}.")
        R = validation.rotation_matrix(rotation, f"rotation of {prefix!r}")
        p = validation.vector(at, f"position of {prefix!r}")
        if prefix in self._included:
            raise ModelError(f"A model is included as {prefix!r} already. Give this one another prefix.")
        self._included.add(prefix)

        def named(name: str) -> str:
            return f"{prefix}/{name}"

        for link in model.links.values():
            add(self._links, "link", _included_link(link, named, p, R))
        for site in model.sites.values():
            add(self._sites, "site", replace(site, name=named(site.name), link=named(site.link)))
        for loop in model.loops:
            ends = _included_end(loop, "first", named, p, R) | _included_end(loop, "second", named, p, R)
            add(self._loops, "loop", replace(loop, name=named(loop.name), **ends))
        for c in model.couplings:
            of = None if c.of is None else named(c.of)
            add(self._couplings, "coupling", replace(c, name=named(c.name), coordinate=named(c.coordinate), of=of))
        for a in model.actuators.values():
            add(self._actuators, "actuator", replace(a, name=named(a.name), coordinate=named(a.coordinate)))
        for pose, q in model.poses.items():
            self._poses[named(pose)] = {named(joint): q[joined.q] for joint, joined in model.joints.items()}
        self._ignored_contacts += [(named(link), named(other)) for link, other in model.ignored_contacts]
        self._contact_pairs += [replace(pair, first=named(pair.first), second=named(pair.second)) for pair in model.contact_pairs]


def _included_link(link: Link, named: Callable[[str], str], p: Array, R: Array) -> Link:
    """Return a link of an included model; a root is moved."""
    joint, joint_name = link.joint.renamed(named), named(link.joint_name)
    if link.parent is not None:
        return replace(link, name=named(link.name), parent=named(link.parent), joint=joint, joint_name=joint_name)
    position, rotation = p + R @ link.position, R @ link.rotation
    return replace(link, name=named(link.name), joint=joint, joint_name=joint_name, position=position, rotation=rotation)


def _included_end(loop: Loop, end: str, named: Callable[[str], str], p: Array, R: Array) -> dict[str, Any]:
    """Return one end of a loop of an included model; an end in the world is moved with the model."""
    link = getattr(loop, end)
    if link != "world":
        return {end: named(link)}
    return {f"{end}_position": p + R @ getattr(loop, f"{end}_position"), f"{end}_rotation": R @ getattr(loop, f"{end}_rotation")}


def _name(name: Any, kind: str) -> str:
    if not isinstance(name, str) or not name or "/" in name or (name == "world" and kind in _FRAMES):
        raise ModelError(f"{name!r} cannot name a {kind}: a name is a non-empty text without '/', other than 'world'.")
    return name


def _shapes(name: str, given: Any) -> tuple[Shape, ...]:
    shapes = tuple(given) if isinstance(given, Iterable) else (given,)
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise ArgumentError(f"shapes of {name!r}: expected shapes such as Sphere(radius=0.1), got {validation.short_repr(shape)}.")
    return shapes


def _mass_properties(
    name: str, mass: float | None, center: ArrayLike | None, inertia: ArrayLike | None, shapes: Sequence[Shape], density: float
) -> tuple[float, Array, Array]:
    """Mass, center of mass and inertia of a link: as given, the others from its shapes."""
    density = validation.number(density, f"density of {name!r}", above=0.0)
    if mass is None and not shapes and not (inertia is None and center is None):
        raise ModelError(f"Link {name!r} has an inertia or a center but no mass. Give mass=...")
    complete = mass is not None and center is not None and inertia is not None
    m, c, i = (0.0, np.zeros(3), np.zeros((3, 3))) if complete else _of_shapes(name, shapes, density)
    if inertia is not None:
        i = _inertia(inertia, f"inertia of {name!r}")
    if mass is not None:
        # Down to minus infinity: negative masses are rejected when the model is built.
        value = validation.number(mass, f"mass of {name!r}", minimum=-np.inf, maximum=1e12)
        if inertia is None and m > 0:
            i = i * (value / m)
        m = value
    return m, c if center is None else validation.vector(center, f"center of {name!r}"), i


def _of_shapes(name: str, shapes: Sequence[Shape], density: float) -> tuple[float, Array, Array]:
    """Mass, center of mass and inertia about it of solids of one density."""
    try:
        pieces = [shape.mass_properties(density) for shape in shapes]
    except ArgumentError as error:
        raise ArgumentError(f"shapes of {name!r}: {error}") from None
    mass = sum(m for m, _, _ in pieces)
    if mass == 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    center = sum((m * c for m, c, _ in pieces), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for m, c, i in pieces:
        d = c - center
        inertia += i + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, center, inertia


def _inertia(given: ArrayLike, what: str) -> Array:
    """Return the matrix from itself or from three principal moments."""
    array = validation.reals(given, what, "three principal moments or a 3x3 matrix")
    return validation.numbers(array, (3, 3), what) if array.ndim == 2 else np.diag(validation.numbers(array, (3,), what))
