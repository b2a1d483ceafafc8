"""Randomly mutated motion files: read with finite numbers or refused with a message, within limits of time and memory."""

from __future__ import annotations

import resource
import time

import pytest
from tests.io.mutations import FORMATS, mutated, outcome, sample
from tests.machine_speed import slowness

COUNT = 800
MAX_SECONDS = 1.0  # [s] of this process on an ordinary machine
MAX_MEMORY = 300  # [MB]


@pytest.mark.parametrize("form", FORMATS)
def test_valid_files_are_read(form):
    assert outcome(form, sample(form)) == "read"


def test_seeds_are_reproducible():
    assert [mutated("BVH", seed) for seed in range(50)] == [mutated("BVH", seed) for seed in range(50)]
    assert len({mutated("BVH", seed) for seed in range(50)}) > 40


@pytest.mark.parametrize("form", FORMATS)
def test_mutated_files_are_read_or_refused(form):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"read": 0, "refused": 0}
    for seed in range(COUNT):
        data = mutated(form, seed)
        start = time.process_time()
        try:
            found[outcome(form, data)] += 1
        except Exception as error:
            raise AssertionError(f"{form} seed {seed}: {type(error).__name__}: {error}") from error
        assert time.process_time() - start < MAX_SECONDS * slowness(), f"{form} seed {seed} takes too long"
    # Both outcomes occur, except for archives, whose checksums detect most changes
    assert min(found.values()) > (COUNT / 50 if form in ("AMASS", "archive") else COUNT / 20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024 * MAX_MEMORY
