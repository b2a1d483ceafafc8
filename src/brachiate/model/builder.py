"""ModelBuilder: describe a model link by link, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import doors
from brachiate.errors import ArgumentError, ModelError
from brachiate.model.joints import Fixed, Joint
from brachiate.model.link import Actuator, Coupling, Link, Loop, Site
from brachiate.model.model import Model
from brachiate.model.shapes import Shape

WATER = 1000.0  # [kg/m³]


class ModelBuilder:
    """Collect links, sites, loops and poses; ``build()`` checks them together and freezes them.

    Example:
        >>> b = ModelBuilder("pendulum")
        >>> b.link("rod", joint=Revolute("y"), mass=1.0, center=(0, 0, -0.5), inertia=(0.1, 0.1, 0.001))
        >>> model = b.build()
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._links: list[Link] = []
        self._sites: list[Site] = []
        self._loops: list[Loop] = []
        self._couplings: list[Coupling] = []
        self._actuators: list[Actuator] = []
        self._poses: dict[str, Mapping[str, Any]] = {}

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
            parent: The link that carries it; None is the inertial frame.
            joint: How it moves against its parent; by default it is fixed.
            joint_name: The joint's name, by default the link's.
            at: Where the joint is in the parent, at zero [m].
            rotation: How it is turned there: quaternion (w, x, y, z) or matrix.
            mass: Mass [kg]. Without it, mass, centre and inertia come from the shapes and ``density``.
            center: Centre of mass in the link [m].
            inertia: About the centre, in link axes: three principal moments or a 3x3 matrix [kg·m²]. Without it, that of
                the shapes scaled to ``mass``.
            shapes: What is drawn and what touches.
            density: Of the shapes [kg/m³], where ``mass`` is not given.
        """
        _name(name, "link")
        if joint is not None and not isinstance(joint, Joint):
            raise ArgumentError(f"joint of {name!r}: expected a joint such as Revolute('y'), got {joint!r}.")
        shapes = (shapes,) if isinstance(shapes, Shape) else tuple(shapes)
        for shape in shapes:
            if not isinstance(shape, Shape):
                raise ArgumentError(f"shapes of {name!r}: expected shapes such as Sphere(radius=0.1), got {shape!r}.")
        m, c, i = _mass_properties(name, mass, center, inertia, shapes, density)
        self._links.append(
            Link(
                name=name,
                parent=parent,
                joint=joint if joint is not None else Fixed(),
                joint_name=_name(joint_name, "joint") if joint_name is not None else name,
                position=doors.vector(at, f"place of {name!r}"),
                rotation=doors.rotation_matrix(rotation, f"rotation of {name!r}"),
                mass=m,
                center=c,
                inertia=i,
                shapes=shapes,
            )
        )

    def site(self, name: str, link: str, at: ArrayLike = (0, 0, 0), rotation: ArrayLike | None = None) -> None:
        """Name a frame in a link."""
        _name(name, "site")
        if any(site.name == name for site in self._sites):
            raise ModelError(f"Two sites are named {name!r}.")
        self._sites.append(
            Site(name, link, doors.vector(at, f"place of site {name!r}"), doors.rotation_matrix(rotation, f"rotation of site {name!r}"))
        )

    def loop(
        self,
        name: str,
        kind: str,
        first: str,
        second: str,
        *,
        first_at: ArrayLike = (0, 0, 0),
        first_rotation: ArrayLike | None = None,
        second_at: ArrayLike = (0, 0, 0),
        second_rotation: ArrayLike | None = None,
    ) -> None:
        """Say that a frame of one link and a frame of another (or of ``world``) are to be held together."""
        doors.one_of(kind, ("point", "weld"), f"kind of loop {name!r}")
        if first == second:
            raise ModelError(f"Loop {name!r} connects link {first!r} to itself.")
        self._loops.append(
            Loop(
                name, kind, first, second,
                doors.vector(first_at, f"first point of loop {name!r}"),
                doors.rotation_matrix(first_rotation, f"first rotation of loop {name!r}"),
                doors.vector(second_at, f"second point of loop {name!r}"),
                doors.rotation_matrix(second_rotation, f"second rotation of loop {name!r}"),
            )
        )  # fmt: skip

    def couple(self, name: str, coordinate: str, of: str | None, coefficients: Sequence[float]) -> None:
        """Say that a coordinate follows another by a polynomial."""
        values = tuple(doors.numbers(coefficients, (len(coefficients),), f"coefficients of coupling {name!r}"))
        self._couplings.append(Coupling(name, coordinate, of, values))

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
        if any(a.name == name for a in self._actuators):
            raise ModelError(f"Two actuators are named {name!r}.")
        gear, gain = (doors.number(x, f"gear and gain of actuator {name!r}") for x in (gear, gain))
        offsets = tuple(map(float, doors.vector(bias, f"bias of actuator {name!r}")))
        self._actuators.append(Actuator(name, coordinate, gear, kind, control_range, force_range, gain, offsets))  # type: ignore[arg-type]

    def pose(self, name: str, values: Mapping[str, Any]) -> None:
        """Name a posture: values by joint."""
        self._poses[name] = dict(values)

    def build(self) -> Model:
        """Check everything together and return the frozen model."""
        return Model(self.name, self._links, self._sites, self._loops, self._couplings, self._actuators, self._poses)

    def include(self, prefix: str, model: Model, at: ArrayLike = (0, 0, 0), rotation: ArrayLike | None = None) -> None:
        """Add a whole model, its names behind ``prefix/``, its roots moved to a place."""
        R = doors.rotation_matrix(rotation, f"rotation of {prefix!r}")
        p = doors.vector(at, f"place of {prefix!r}")

        def named(name: str) -> str:
            return f"{prefix}/{name}"

        for link in model.links.values():
            moved: dict[str, Any] = {}
            if link.parent is None:
                moved = {"position": p + R @ link.position, "rotation": R @ link.rotation}
            self._links.append(
                replace(
                    link,
                    name=named(link.name),
                    parent=named(link.parent) if link.parent is not None else None,
                    joint=link.joint.renamed(named),
                    joint_name=named(link.joint_name),
                    **moved,
                )
            )
        self._sites += [replace(s, name=named(s.name), link=named(s.link)) for s in model.sites.values()]
        self._loops += [
            replace(
                loop,
                name=named(loop.name),
                **{end: named(getattr(loop, end)) for end in ("first", "second") if getattr(loop, end) != "world"},
            )
            for loop in model.loops
        ]
        self._couplings += [
            replace(c, name=named(c.name), coordinate=named(c.coordinate), of=None if c.of is None else named(c.of))
            for c in model.couplings
        ]
        self._actuators += [replace(a, name=named(a.name), coordinate=named(a.coordinate)) for a in model.actuators.values()]


def _name(name: Any, kind: str) -> str:
    if not isinstance(name, str) or not name or "/" in name or name == "world":
        raise ModelError(f"{name!r} cannot name a {kind}: a name is a text that is not empty, has no '/' and is not 'world'.")
    return name


def _mass_properties(
    name: str, mass: float | None, center: ArrayLike | None, inertia: ArrayLike | None, shapes: Sequence[Shape], density: float
) -> tuple[float, Any, Any]:
    """Mass, centre and inertia of a link from what is given and what its shapes say."""
    if mass is not None:
        given = doors.number(mass, f"mass of {name!r}", most=1e12)
    elif shapes:
        given = None
    elif inertia is not None or center is not None:
        raise ModelError(f"Link {name!r} has an inertia or a centre but no mass. Give mass=...")
    else:
        given = 0.0
    pieces = (
        [s.mass_properties(doors.number(density, f"density of {name!r}", above=0.0)) for s in shapes]
        if inertia is None or center is None
        else []
    )
    total = sum(m for m, _, _ in pieces)
    c_shapes = sum((m * c for m, c, _ in pieces), np.zeros(3)) / total if total > 0 else np.zeros(3)
    c = doors.vector(center, f"centre of {name!r}") if center is not None else c_shapes
    if inertia is not None:
        array = np.asarray(inertia, float)
        i = doors.numbers(array, (3, 3) if array.ndim == 2 else (3,), f"inertia of {name!r}")
        i = i if i.ndim == 2 else np.diag(i)
    else:
        i = np.zeros((3, 3))
        for m, cp, ip in pieces:
            d = cp - c_shapes
            i += ip + m * (d @ d * np.eye(3) - np.outer(d, d))
        if given is not None and total > 0:
            i *= given / total
    return total if given is None else given, c, i
