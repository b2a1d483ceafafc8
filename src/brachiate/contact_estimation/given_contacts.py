"""Contact labels, terrain and supports as arguments: objects, texts or files, checked against the figure of a motion."""

from __future__ import annotations

from os import PathLike

from brachiate import validation
from brachiate.anatomy.contact_points import find_contact_points
from brachiate.deprecation import warn_renamed
from brachiate.errors import ArgumentError
from brachiate.motion.contact_labels import ContactLabels, load_contact_labels
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Terrain, parse_terrain

SUPPORTS = ("auto", "find", "ground")


def resolve_supports(supports: str | bool | None) -> str:
    """Which supports are inferred: ``"find"`` steps, seats and bars, too, ``"ground"`` contacts only, ``"auto"``.

    True, False and None are the deprecated names of these.
    """
    if supports is None or isinstance(supports, bool):
        name = "auto" if supports is None else "find" if supports else "ground"
        warn_renamed(f"supports={supports}", f"supports={name!r}")
        return name
    return validation.one_of(supports, SUPPORTS, "supports")


def resolve_contacts(
    motion: Motion, terrain: Terrain | str | None, contacts: ContactLabels | str | PathLike[str] | None, terrain_argument: str = "terrain"
) -> tuple[ContactLabels | None, Terrain | None]:
    """Contact labels of a motion, None if they are to be inferred, and its terrain, None if it is not given.

    Labels of the motion itself count as given, unless a terrain is.
    """
    if terrain is not None and contacts is not None:
        raise ArgumentError(f"Contact labels include their terrain: give contacts or {terrain_argument}, not both.")
    if contacts is None and terrain is None:
        contacts = motion.contacts
    terrain = resolve_terrain(terrain, terrain_argument)
    if contacts is None:
        return None, terrain
    parts = find_contact_points(motion.figure).parts
    if isinstance(contacts, (str, PathLike)):
        contacts = load_contact_labels(contacts, parts)
    if not isinstance(contacts, ContactLabels):
        raise ArgumentError(f"contacts: expected ContactLabels or the path of a contact file, got {validation.short_repr(contacts)}.")
    for label in contacts.contacts:
        validation.lookup(dict.fromkeys(parts), label.part, "part", f"figure {motion.figure.name!r}")
    return contacts, contacts.terrain


def resolve_terrain(terrain: Terrain | str | None, argument: str) -> Terrain | None:
    """Terrain of an argument: itself, or as its text describes."""
    if isinstance(terrain, str):
        terrain = parse_terrain(terrain)
    if terrain is not None and not isinstance(terrain, Terrain):
        raise ArgumentError(f"{argument}: expected a Terrain or a text such as 'slope:10', got {validation.short_repr(terrain)}.")
    return terrain
