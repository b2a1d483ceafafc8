"""World: figures and objects in one inertial frame, their state, constraints, contact and dynamics, everything by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from numpy.typing import ArrayLike

from brachiate import dynamics, validation
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.constraints.coordinates import Coordinates
from brachiate.deprecation import renamed_arguments, renamed_attribute, renamed_method, warn_renamed
from brachiate.dynamics import Totals
from brachiate.errors import ArgumentError, ModelError
from brachiate.figures import ranges
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import STANDARD_GRAVITY, Data
from brachiate.model.joints import Joint
from brachiate.model.material import Material
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world import balance, closed_dynamics, contact_settings, coordinates, links, locks, mobility, structure, world_state
from brachiate.world.applied_forces import AppliedForce, checked_forces, write_applied_forces
from brachiate.world.closed_dynamics import Torques
from brachiate.world.connections import Connection, ConnectionReport, Constraint, CouplingConstraint, Lock, SpringDamper
from brachiate.world.contacts import Contacts
from brachiate.world.coordinates import NamedCoordinates
from brachiate.world.figure import Figure
from brachiate.world.mobility import Mobility
from brachiate.world.named_values import NamedValues, coordinate_values
from brachiate.world.tree_queries import TreeQueries, frame_placements
from brachiate.world.world_state import WorldState


class World(TreeQueries):
    """Figures and objects, their state, constraints and contact, and the quantities that follow from them.

    Names are ``figure/part``: links and sites (``man/left_hand``), joints and coordinates (``man/left_knee``).

    Args:
        gravity: Acceleration vector (3,) [m/s²], or one number: its magnitude along -z; up to 10,000.
    """

    def __init__(self, gravity: float | ArrayLike = STANDARD_GRAVITY) -> None:
        if validation.reals(gravity, "gravity", "three numbers, or one").ndim == 0:
            gravity = (0.0, 0.0, -validation.number(gravity, "gravity", minimum=0.0, maximum=ranges.MAX_GRAVITY))
        self._gravity = ranges.vector(gravity, "gravity", ranges.MAX_GRAVITY)
        self.parts: dict[str, tuple[Model, Array, Array]] = {}  #: model, base position and base rotation of every figure
        self.constraints: list[Constraint] = []  #: every connection, lock and coupling, in the order they were made
        self.structure_version = self._changes = 0  #: number of the present structure; :meth:`restore` brings an earlier one back
        self._figures: dict[str, Figure] = {}
        self._applied_forces: list[AppliedForce] = []
        #: Structure for which generalized coordinates were last chosen, and the choice: see :meth:`coordinates`.
        self.coordinate_choice: tuple[Any, Coordinates] | None = None
        self.contact_settings = contact_settings.ContactSettings(self)  #: whether shapes collide, and their materials
        self.links = links.Links(self)  #: every link and virtual link, with parent, child, brother and real pointers [SVC] 3
        self.time = 0.0  #: [s]
        self.rebuild()

    # --- figures ----------------------------------------------------------------------------------

    def add(self, model: Model, name: str | None = None, at: ArrayLike = (0, 0, 0), rotation: ArrayLike | None = None) -> Figure:
        """Add a figure or object under a name, with its base at a given pose. Nothing that is already there changes.

        It starts in the model's pose ``reference`` if it has one (models from files do), otherwise with every joint at zero. Its
        loops and couplings are closed, if necessary by small motions of its joints (assembly).
        """
        if not isinstance(model, Model):
            raise ArgumentError(f"world.add expects a model, such as brachiate.figures.human28(), got {model!r}.")
        name = model.name if name is None else name
        if not isinstance(name, str) or not name or "/" in name or name == "world":
            raise ModelError(f"{name!r} cannot name a figure: a name is a non-empty text without '/' that is not 'world'.")
        if name in self.parts:
            raise ModelError(f"A figure named {name!r} exists already. Give this one another name: world.add(..., name=...).")
        before = self.save()
        self.parts[name] = (
            model, ranges.vector(at, f"position of {name!r}"), validation.rotation_matrix(rotation, f"rotation of {name!r}"),
        )  # fmt: skip
        try:
            self.rebuild(before)
            if "reference" in model.poses:  # the posture in which a file draws the model
                for joint, place in model.joints.items():
                    self.data.q[self.model.joints[f"{name}/{joint}"].q] = model.poses["reference"][place.q]
            if model.loops or model.couplings:
                structure.close_loops(self, name, model)
            self.update_redundancy()
        except Exception:
            del self.parts[name]
            self.constraints = list(before.constraints)
            self.rebuild()
            self.restore(before)
            raise
        self._figures[name] = Figure(self, name, model)
        return self._figures[name]

    def rebuild(self, before: WorldState | None = None) -> None:
        """Build one model of all parts; joints that existed before keep their state, constraints their handles."""
        builder = ModelBuilder("world")
        for name, (model, at, rotation) in self.parts.items():
            builder.include(name, model, at, rotation)
        model = builder.build()
        data = Data(model, self._gravity)
        if before is not None:
            for joint, old in self.model.joints.items():
                if joint in model.joints:
                    new = model.joints[joint]
                    data.q[new.q], data.v[new.v], data.tau[new.v] = before.q[old.q], before.v[old.v], before.torque[old.v]
        self.model, self.data = model, data
        self._frames = frame_placements(model)
        self._figure_bodies = {figure: balance.figure_bodies(model, figure) for figure in self.parts}
        write_applied_forces(self)
        self.constraint_set = ConstraintSet(self.data)  # with room for the applied forces
        for constraint in self.constraints:
            constraint.index = -1
        self.constraints = [constraint for constraint in self.constraints if constraint.fits(model)]
        for constraint in self.constraints:
            if before is not None and isinstance(constraint, Connection) and constraint in before.connection_states:
                constraint.initial_state = before.connection_states[constraint]
            constraint.add_to(self.constraint_set, model)
        self.constraint_set.update_structure()
        self.contact_settings.rebuild()
        self.mark_structure_changed()

    def mark_structure_changed(self) -> None:
        """Give the structure a new version number, and exclude pairs that are now connected from contact."""
        self._changes += 1
        self.structure_version = self._changes
        self.contact_settings.update_pairs()

    def update_redundancy(self) -> None:
        """Classify constraint rows as independent or redundant at the present state, which is unchanged."""
        if self.constraints:
            self.constraint_set.arrays.time[0] = self.time
            self.constraint_set.accelerations()

    @property
    def figures(self) -> Mapping[str, Figure]:
        """Every figure and object that was added, by name."""
        return MappingProxyType(self._figures)

    def figure(self, name: str) -> Figure:
        """One figure by name."""
        return validation.lookup(self._figures, name, "figure", "this world")

    # --- contact ----------------------------------------------------------------------------------

    @renamed_arguments(one="link")
    def enable_contact(
        self,
        link: str | None = None,
        other: str | None = None,
        *,
        material: Material | None = None,
        friction: float | None = None,
        restitution: float | None = None,
    ) -> None:
        """Enable contact between all shapes; shapes without a material of their own get this one.

        With two links, only the material of that pair is set: ``world.enable_contact("man/left_foot", "ice/ground",
        friction=0.05)``. Connected links, and neighbors in a figure, never collide. :meth:`disable_contact` is the inverse.
        """
        self.contact_settings.enable(link, other, material, friction, restitution)

    def disable_contact(self) -> None:
        """Disable contact in the whole world."""
        self.contact_settings.ignore(None, None)

    def ignore_contact(self, link: str, other: str | Iterable[str]) -> None:
        """Ignore contact between a link and another one, or several others. :meth:`allow_contact` is the inverse."""
        self.contact_settings.ignore(link, other)

    def allow_contact(self, link: str, other: str) -> None:
        """Allow contact between two links again after :meth:`ignore_contact`."""
        self.contact_settings.allow(link, other)

    touch = renamed_method("touch", "enable_contact")
    meet = renamed_method("meet", "allow_contact")

    def pass_through(self, one: str | None = None, other: str | Iterable[str] | None = None) -> None:
        """Forward to :meth:`ignore_contact`, or without links to :meth:`disable_contact`; deprecated."""
        warn_renamed("World.pass_through", "World.ignore_contact, or World.disable_contact for all links")
        self.contact_settings.ignore(one, other)

    @property
    def contacts(self) -> Contacts:
        """Contacts at the present state, with the forces of a very short step from here."""
        return self.contact_settings.contacts()

    def zmp(self, figure: str, height: float | None = None) -> Array:
        """Zero-moment point (ZMP) of a figure (3,) [m], from the rates of its momentum; NaN in the air.

        Contact forces are not used. Where a level floor is all that acts, the ZMP is the center of pressure
        ``world.contacts.reaction(figure).cop``; applied forces and connections move it, even out of the support polygon.
        ``height`` is that of the floor [m], by default the height of the figure's contacts, or zero.
        """
        return balance.zmp(self, figure, height)

    # --- structure --------------------------------------------------------------------------------

    @renamed_arguments(soft="compliance")
    def connect(
        self,
        link: str,
        to: str,
        joint: Joint | None = None,
        *,
        at: ArrayLike | None = None,
        to_at: ArrayLike | None = None,
        allow: str | Iterable[str] | None = None,
        name: str | None = None,
        redundant: bool = False,
        compliance: SpringDamper | None = None,
    ) -> Connection:
        """Connect two links by a joint (fixed, if none is given) at run time; either may be a site, or ``world``.

        The joint is made at the present pose of the first frame, with the axes of the second: nothing moves. With ``allow``,
        the second frame is brought onto the first instead, by the least motion of the joints named (assembly). Velocities are then
        projected onto the constraints by an impulse [SVC] 4.3, to which contacts react; see ``connection.report``. On failure nothing
        has changed.

        Args:
            link: Link or site to connect.
            to: Link or site (or ``world``) it is connected to.
            joint: Joint of any type, with its damping, springs and friction; ``link`` moves relative to ``to``.
            at: Point in the first frame where the joint is made (3,) [m]; its origin by default.
            to_at: With ``allow``: point in the second frame that is brought onto it (3,) [m]; its origin by default.
            allow: Joints that may move to close the gap: a name, a pattern such as ``man/*``, several of them, or ``all``.
            name: Name of the connection; by default that of the link, or ``link to other`` if a joint has that name.
            redundant: Accept a connection all of whose rows are redundant.
            compliance: Springs and dampers instead of rigid constraints, such as ``SpringDamper(stiffness=2e4, damping=200)``.
        """
        return structure.connect(self, link, to, joint, at, to_at, allow, name, redundant, compliance)

    def cut(self, what: Constraint | str, *, impulse: ArrayLike | None = None) -> ConnectionReport:
        """Cut a connection or coupling, or a joint of the tree (its child link gets a free joint); pose and velocity are unchanged.

        A name refers to a connection before a fixed joint of the tree.

        Args:
            what: Connection, coupling, or a name.
            impulse: Separation impulse (3,) [N·s], world axes: acts on ``link`` of the connection, its opposite on ``to``.
        """
        return structure.cut(self, what, impulse)

    def lock(self, name: str, *, redundant: bool = False) -> list[Lock]:
        """Lock a joint or coordinate at its present value."""
        return locks.lock(self, name, redundant)

    @renamed_arguments(course="polynomial", over="duration")
    def prescribe(self, name: str, polynomial: ArrayLike, *, duration: float | None = None) -> Lock:
        """Prescribe a coordinate as c0 + c1 t + c2 t² + ..., t counted from now, for a duration [s] or without end.

        The constraint torque is ``prescribed.torque``. Up to six coefficients; c0 is the present value.
        """
        return locks.prescribe(self, name, polynomial, duration)

    def release(self, name: str) -> None:
        """Release a locked or prescribed joint or coordinate."""
        locks.release(self, name)

    @property
    def connections(self) -> Mapping[str, Connection]:
        """Every connection by name, in the order they were made."""
        return MappingProxyType({c.name: c for c in self.constraints if isinstance(c, Connection)})

    @property
    def couplings(self) -> Mapping[str, CouplingConstraint]:
        """Every coupling of two coordinates that a model has, by name; ``cut`` removes it."""
        return MappingProxyType({c.name: c for c in self.constraints if isinstance(c, CouplingConstraint)})

    @property
    def locks(self) -> Mapping[str, Lock]:
        """Every locked or prescribed coordinate, by name."""
        return MappingProxyType({c.name: c for c in self.constraints if isinstance(c, Lock)})

    def mobility(self, actuated: str | Iterable[str] | None = None) -> Mobility:
        """Mobility in the present posture: degrees of freedom, passive motions, redundant constraints and near singularities.

        The choice of generalized coordinates is kept from call to call while the structure is the same and the choice is well conditioned.

        Args:
            actuated: Coordinates with motors, as in :meth:`inverse_dynamics`; by default all with an effort limit above zero.
        """
        return mobility.mobility(self, actuated)

    def coordinates(self, actuated: str | Iterable[str] | None = None) -> NamedCoordinates:
        """Generalized coordinates at the present state, chosen as in :meth:`mobility`, with the matrices W, S and H of [CKC] 2."""
        return coordinates.named_coordinates(self, actuated)

    def row_names(self) -> list[str]:
        """Name of each row of the constraint set."""
        return structure.row_names(self)

    # --- snapshots --------------------------------------------------------------------------------

    def save(self) -> WorldState:
        """Snapshot of state, structure, applied forces and contact memory."""
        return world_state.save_state(self)

    def restore(self, state: WorldState) -> None:
        """Restore a snapshot of this world."""
        world_state.restore_state(self, state)

    def same_structure(self, since: WorldState) -> bool:
        """Whether structure, applied forces, motor torques of connections and contact pairs are those of a snapshot."""
        return world_state.same_structure(self, since)

    def copy(self, state: WorldState | None = None) -> World:
        """Independent copy of this world; given a snapshot of this world, the copy is in that state."""
        state = self.save() if state is None else state
        if not isinstance(state, WorldState) or any(constraint.world is not self for constraint in state.constraints):
            raise ArgumentError(
                f"copy expects no argument, or a state that save() of this world returned, got {validation.short_repr(state)}."
            )
        other = World(self._gravity)
        other.parts, other.contact_settings = dict(state.parts), contact_settings.copy_settings(self.contact_settings, other)
        other._figures = {name: Figure(other, name, model) for name, (model, _, _) in state.parts.items()}
        other.constraints = [constraint.copy_to(other) for constraint in state.constraints]
        other.rebuild()
        other.restore(state.for_copy(other))
        return other

    # --- external forces --------------------------------------------------------------------------

    def apply_force(
        self, link: str, force: ArrayLike = (0, 0, 0), *, moment: ArrayLike = (0, 0, 0), at: ArrayLike = (0, 0, 0), axes: str = "world"
    ) -> AppliedForce:
        """Apply a force [N] and a moment [N·m] to a link at a point of it, until :meth:`remove` is called with the handle.

        Args:
            link: Name of the link.
            force: (3,) [N].
            moment: (3,) [N·m] about the point.
            at: Point of application in the link (3,) [m].
            axes: ``world`` or ``link``: axes in which force and moment are given and stay constant.
        """
        validation.lookup(self.model.links, link, "link", "this world")
        applied = AppliedForce(
            link,
            ranges.vector(force, "force", ranges.MAX_FORCE),
            ranges.vector(moment, "moment", ranges.MAX_FORCE),
            ranges.vector(at, "point of application"),
            validation.one_of(axes, ("world", "link"), "axes of the force"),
        )
        self.set_applied_forces([*self._applied_forces, applied])
        return applied

    @renamed_arguments(push="force")
    def remove(self, force: AppliedForce) -> None:
        """Remove an applied force."""
        if not any(applied is force for applied in self._applied_forces):
            raise ArgumentError("This force is not applied to any link of this world: it was removed, or is another world's.")
        self.set_applied_forces([applied for applied in self._applied_forces if applied is not force])

    @property
    def applied_forces(self) -> tuple[AppliedForce, ...]:
        """Every applied force."""
        return tuple(self._applied_forces)

    def set_applied_forces(self, forces: Iterable[AppliedForce]) -> None:
        """Replace all applied forces."""
        self._applied_forces = checked_forces(forces)
        write_applied_forces(self)

    push = renamed_method("push", "apply_force")
    pushes = renamed_attribute("pushes", "applied_forces")

    # --- dynamics ---------------------------------------------------------------------------------

    @renamed_arguments(of="figure")
    def totals(self, figure: str | None = None) -> Totals:
        """Mass, center of mass (CoM), momentum, angular momentum about the CoM, and energy, of one figure or of all.

        Spring energy of connections is part of the total of all figures, not of one.
        """
        totals = super().totals(figure)
        if figure is None and any(c.compliance or c.joint.stiffness.any() for c in self.connections.values()):
            totals = totals._replace(potential=totals.potential + self.constraint_set.spring_energy())
        return totals

    @renamed_arguments(share="objective")
    def inverse_dynamics(
        self,
        acceleration: ArrayLike | Mapping[str, Any],
        actuated: str | Iterable[str] | None = None,
        objective: str = "least-norm",
        weights: ArrayLike | Mapping[str, Any] | None = None,
        limits: bool = False,
    ) -> Torques:
        """Inverse dynamics: torques for given accelerations at the present state (nv,) [N·m or N].

        For an open tree, with no other argument given, torques of every coordinate, with or without a motor. With constraints
        (or if ``actuated``, ``weights`` or ``limits`` are given), the generalized force is distributed over the motors alone
        [CKC] 3.1: if the solution is not unique, the least torques; if there is none, the least residual. See ``torques.sharing``:
        ``realized``, the ``residual`` by name, ``rank``, ``unique``, ``saturated``, ``passive``.

        Torques are those of the nearest acceleration, in the mass metric, that satisfies the constraints; ``torques.inconsistency`` is
        its relative distance from the given one, and a warning is given above 1e-6. Springs, dampers, friction and motors in the
        joints of connections act as they do in :meth:`forward_dynamics`.

        Args:
            acceleration: Of all coordinates, or by name, the others zero.
            actuated: Coordinates with motors: names of joints or coordinates, and patterns such as ``man/*``, which match those that
                have a motor (an effort limit above zero). By default all that have one.
            objective: Minimize the sum of squared torques (``least-norm``), or of squared torques over effort limits
                (``least-effort``).
            weights: Factors of these squares: by name, the others 1, or one for each coordinate.
            limits: Whether motor torques are bounded by their effort limits.
        """
        return closed_dynamics.inverse_dynamics(self, acceleration, actuated, objective, weights, limits)

    def forward_dynamics(self, torque: ArrayLike | Mapping[str, Any] | None = None, *, method: str = "fast") -> NamedValues:
        """Forward dynamics: accelerations for given torques (by default ``world.torque``) at the present state (nv,).

        Args:
            torque: Of all coordinates, or by name, the others zero.
            method: ``fast``, or ``unit-vector``: the published method [CKC] 3.2, one pass of inverse dynamics per degree of freedom, for
                comparison. It returns no connection forces, and handles neither singular postures nor joint limits.
        """
        own = self.data.tau.copy()
        tau = own if torque is None else coordinate_values(self.model, torque, "torque")
        if validation.one_of(method, ("fast", "unit-vector"), "method") == "unit-vector":
            return closed_dynamics.unit_vector_dynamics(self, tau)
        try:
            self.data.tau[:] = tau
            result = NamedValues(self.constrained_accelerations(), self.model)
        finally:
            self.data.tau[:] = own
        result.connection_wrenches = {name: connection.read_wrench() for name, connection in self.connections.items()}
        return result

    def constrained_accelerations(self) -> Array:
        """Accelerations at the present state and torques, with constraint and contact forces (nv,)."""
        if self.contact_settings.contact_state is not None:
            return self.contact_settings.contact_state.evaluate_instant(self.time).acceleration
        if not self.constraints:  # the solver would have no arrays
            return dynamics.forward_dynamics(self.data, self.data.q, self.data.v, self.data.tau)
        self.constraint_set.arrays.time[0] = self.time
        return self.constraint_set.accelerations()

    def __str__(self) -> str:
        """Draw every figure as a tree of its links; ``⇢`` is a virtual link: another link that is connected there."""
        return links.draw_tree(self)

    def __repr__(self) -> str:
        """Return the figures, degrees of freedom of the tree, and time in one line."""
        return f"<World: {', '.join(self.parts) or 'empty'}; {self.model.nv} dof, t = {self.time:g} s>"
