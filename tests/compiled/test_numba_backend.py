"""Compilation by Numba and LLVM: what is inlined."""

from __future__ import annotations

import re

import pytest

from brachiate import compiled
from brachiate.compiled import Floats, entry, kernel, outlined

if compiled.MODE == "off":
    pytest.skip("compiled code is switched off", allow_module_level=True)

from brachiate.compiled import numba_backend


@kernel
def inner_part(x, i):
    return 0.5 * x[i]


@outlined
def large_part(x, i):
    return inner_part(x, i) + 2.0 * x[i]


@kernel
def small_part(x, i):
    return large_part(x, i) + 1.0


@entry
def whole(x: Floats):
    return small_part(x, 0) + small_part(x, 1)


def test_kernels_are_inlined_and_outlined_functions_are_not(monkeypatch):
    # Fails if a kernel passes its inlining on to outlined functions that it calls: their code, copied to every call, took half of the
    # time of compilation.
    forced = {}

    def record(module, machine):
        forced.update({function.name: b"alwaysinline" in b" ".join(function.attributes) for function in module.functions})

    monkeypatch.setattr(numba_backend, "_optimize", record)
    numba_backend.compile_function(whole.py_func, whole.signatures[0])
    found = {match[0]: value for name, value in forced.items() if (match := re.search("(inner|large|small)_part", name))}
    assert found == {"inner_part": compiled.MODE == "fast", "small_part": compiled.MODE == "fast", "large_part": False}
