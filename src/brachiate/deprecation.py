"""Deprecated names: aliases that warn once per call site and forward to the new name."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from brachiate.errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that ``old`` is deprecated and ``new`` replaces it."""
    warnings.warn(f"{old} is deprecated and will be removed in 0.3: use {new}.", DeprecationWarning, stacklevel=stacklevel)


def renamed_arguments(**new_names: str) -> Callable[[F], F]:
    """Accept deprecated keyword arguments: ``@renamed_arguments(ground="terrain")``.

    Raises:
        ArgumentError: Old and new name are both given.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            for old, new in new_names.items():
                if old in kwargs:
                    if new in kwargs:
                        raise ArgumentError(f"{function.__name__}: {old!r} is the deprecated name of {new!r}; give only {new!r}.")
                    warn_renamed(f"argument {old!r} of {function.__name__}", repr(new))
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


def renamed_method(old: str, new: str) -> Any:
    """Return a deprecated method that warns and calls ``self.new``."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{old}", f"{type(self).__name__}.{new}")
        return getattr(self, new)(*args, **kwargs)

    method.__name__, method.__doc__ = old, f"Forward to :meth:`{new}`; deprecated."
    return method


def renamed_attribute(old: str, new: str) -> Any:
    """Return a property that warns and reads ``self.new``."""

    def read(self: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{old}", f"{type(self).__name__}.{new}")
        return getattr(self, new)

    return property(read, doc=f"Value of :attr:`{new}`; deprecated.")


def module_getattr(module: str, renamed: Mapping[str, tuple[str, Callable[[], Any]]]) -> Callable[[str], Any]:
    """Return a module-level ``__getattr__`` for deprecated names: old name → (new name, function that returns it)."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new, value = renamed[name]
        warn_renamed(f"{module}.{name}", new)
        return value()

    return __getattr__
