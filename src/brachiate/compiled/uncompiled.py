"""Marks of functions when compilation is off (``BRACHIATE_COMPILED=off``): everything runs as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def kernel(function: F) -> F:
    """Return the function unchanged."""
    return function


outlined = inlined = kernel

_FUNCTIONS: list[Callable[..., int]] = []


def by_address(function: Callable[..., int]) -> SimpleNamespace:
    """Give a function an address: its number, from 1; 0 is no function."""
    _FUNCTIONS.append(np.errstate(all="ignore")(function))
    return SimpleNamespace(address=len(_FUNCTIONS))


def call_address(address: int, key: Any, other_key: Any, x: float, n: int) -> int:
    """Call a :class:`by_address` function by its address."""
    return _FUNCTIONS[address - 1](key, other_key, x, n)


def entry(function: F) -> F:
    """Continue silently after overflow and division by zero, as compiled code does."""
    return cast(F, np.errstate(all="ignore")(function))


def index(i: int) -> int:
    """Return the index unchanged."""
    return i


def operators(cls: C) -> C:
    """Let NumPy scalars defer to the class's own operators."""
    cls.__array_ufunc__ = None
    return cls


def struct_opener(*structs: type) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from a handle's key to its first structs: here the key is the structs."""
    return lambda key: key[: len(structs)]


def prepare(*jobs: str) -> None:
    """Do nothing: there is nothing to compile."""
