"""Unique names of the parts of a compiled MuJoCo model: those of the file, or generated ones."""

from __future__ import annotations

from typing import Any

import mujoco

SUFFIXES = {
    mujoco.mjtJoint.mjJNT_HINGE: ("",),
    mujoco.mjtJoint.mjJNT_SLIDE: ("",),
    mujoco.mjtJoint.mjJNT_BALL: ("x", "y", "z"),
    mujoco.mjtJoint.mjJNT_FREE: ("x", "y", "z", "rx", "ry", "rz"),
}
GROUND = "ground"


class Names:
    """Names of links, joints, coordinates and sites, by MuJoCo's ids.

    A missing name becomes that of the owner with a number: ``parent.1`` is the first body of ``parent``. '/' separates the models of a
    world, so it becomes '.' in a name.
    """

    def __init__(self, m: Any) -> None:
        self._m = m
        self.links = self._name_links()
        self._taken: set[str] = set()
        self.joints = [self._name_joint(j) for j in range(m.njnt)]
        self.joint_of_link = [self._name_joint_of(b) for b in range(m.nbody)]
        self.ground = _unique(GROUND, set(self.links))

    def _name_links(self) -> list[str]:
        m = self._m
        given = [_clean(m.body(b).name) for b in range(m.nbody)]
        taken, links, children = {"world", *(n for n in given if n)}, ["world"], [0] * m.nbody
        seen: set[str] = set()
        for b in range(1, m.nbody):
            parent = int(m.body_parentid[b])
            children[parent] += 1
            invented = f"{links[parent] if parent else 'body'}.{children[parent]}"
            link = given[b] if given[b] and given[b] not in seen else _unique(given[b] or invented, taken)
            taken.add(link)
            seen.add(link)
            links.append(link)
        return links

    def _name_joint(self, j: int) -> str:
        m = self._m
        b = int(m.jnt_bodyid[j])
        alone = m.body_jntnum[b] == 1
        name = _clean(m.joint(j).name) or (self.links[b] if alone else f"{self.links[b]}.{j - m.body_jntadr[b] + 1}")
        suffixes = SUFFIXES[mujoco.mjtJoint(m.jnt_type[j])]
        while {name, *_with(name, suffixes)} & self._taken:
            name += "_"
        self._taken |= {name, *_with(name, suffixes)}
        return name

    def _name_joint_of(self, b: int) -> str:
        """Name of the joint of a body: that of its only MuJoCo joint, or of the link."""
        if self._m.body_jntnum[b] == 1:
            return self.joints[self._m.body_jntadr[b]]
        if self._m.body_jntnum[b] == 0:
            return self.links[b] or "world"
        name = self.links[b]
        while name in self._taken:
            name += ".joint"
        self._taken.add(name)
        return name

    def coordinates(self, j: int) -> list[str]:
        """Names of the velocities of joint j."""
        return _with(self.joints[j], SUFFIXES[mujoco.mjtJoint(self._m.jnt_type[j])])

    def link(self, b: int) -> str:
        """Name of the link of body b; the world is the ground link."""
        return self.links[b] if b else self.ground


def unique_names(given: list[str], what: str) -> list[str]:
    """Return unique names of one kind; missing ones are numbered: ``what.1``."""
    taken = {name for name in map(_clean, given) if name}
    names, seen = [], set()
    for i, raw in enumerate(given):
        name = _clean(raw)
        if not name or name in seen:
            name = _unique(name or f"{what}.{i + 1}", taken)
        taken.add(name)
        seen.add(name)
        names.append(name)
    return names


def _clean(name: str) -> str:
    return name.replace("/", ".")


def _with(name: str, suffixes: tuple[str, ...]) -> list[str]:
    return [f"{name}.{s}" if s else name for s in suffixes]


def _unique(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
