"""Calls from Python into compiled code: arguments of every type, arguments that do not fit, results, copies by name."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

from brachiate import compiled
from brachiate.compiled import Floats, Image, Ints, Key, Matrix, by_address, call_address, entry
from brachiate.errors import SettingError

if compiled.MODE == "off":
    pytest.skip("compiled code is switched off", allow_module_level=True)


@entry
def weighted_sum(x: Floats, n: int, factor: float, negative: bool):
    total = 0.0
    for i in range(n):
        total += factor * x[i]
    return -total if negative else total


@entry
def set_corner(matrix: Matrix, image: Image, counts: Ints):
    matrix[matrix.shape[0] - 1, matrix.shape[1] - 1] = 7.0
    image[0, 1, 2] = 0.5
    counts[0] = 1 << 40


@entry
def is_missing(key: Key | None, n: int):
    return n if key is None else key[0]


@entry
def below(x: float, y: float):
    return x < y


@by_address
def doubled(key, other_key, x, n):
    key[0] = 2 * n
    return n + 1


@entry
def call(address: int, key: Key, n: int):
    return call_address(address, key, key, 0.5, n)


def test_numbers_arrays_and_truth_values_are_passed():
    x = np.arange(5.0)
    assert weighted_sum(x, 3, 2.0, False) == 6.0
    assert weighted_sum(x, np.int64(3), 2, np.bool(True)) == -6.0  # NumPy's scalars, and an int for a float
    assert weighted_sum(x, True, np.float32(0.5), 0) == 0.0
    assert weighted_sum(np.zeros(0), 0, 1.0, False) == 0.0
    assert [below(1.0, 2.0), below(2.0, 1.0)] == [True, False]


def test_arrays_are_changed_in_place():
    matrix, image, counts = np.zeros((2, 3)), np.zeros((1, 2, 3), np.float32), np.zeros(1, np.int64)
    assert set_corner(matrix, image, counts) is None
    assert (matrix[1, 2], image[0, 1, 2], counts[0]) == (7.0, 0.5, 1 << 40)
    assert np.count_nonzero(matrix) == np.count_nonzero(image) == 1


def test_arguments_that_may_be_none():
    assert is_missing(None, 4) == 4
    assert is_missing(np.array([9]), 4) == 9
    with pytest.raises(TypeError, match="takes arguments of types"):
        is_missing(np.array([9]), None)


def test_items_of_unpickled_arrays_and_other_c_types_fit():
    # Their type of items is another object, or of another C type of the same size.
    x = pickle.loads(pickle.dumps(np.arange(3.0)))
    assert weighted_sum(x, 3, 1.0, False) == 3.0
    assert is_missing(np.array([5], np.longlong), 0) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], 1, 1.0, False), "weighted_sum: x must be a C-contiguous float64 array with 1 axes"),
        ((np.zeros(3, np.float32), 1, 1.0, False), "x must be a C-contiguous float64"),
        ((np.zeros(3, np.int64), 1, 1.0, False), "x must be a C-contiguous float64"),
        ((np.zeros(3, ">f8"), 1, 1.0, False), "x must be a C-contiguous float64"),
        ((np.zeros((3, 1)), 1, 1.0, False), "with 1 axes"),
        ((np.zeros(6)[::2], 1, 1.0, False), "C-contiguous"),
        ((np.zeros(3).view(np.matrix), 1, 1.0, False), "x must be"),
        ((None, 1, 1.0, False), "x must be"),
        ((np.zeros(3), "1", 1.0, False), "cannot be interpreted as an integer"),
        ((np.zeros(3), 1.5, 1.0, False), "cannot be interpreted as an integer"),
        ((np.zeros(3), 1, "1", False), "must be real number"),
        ((np.zeros(3), 1, 1.0), "weighted_sum takes 4 arguments: x, n, factor, negative"),
        ((np.zeros(3), 1, 1.0, False, 0), "takes 4 arguments"),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        weighted_sum(*arguments)


def test_large_integers_are_refused():
    with pytest.raises(OverflowError):
        weighted_sum(np.zeros(3), 1 << 70, 1.0, False)


def test_minus_one_is_a_number():
    # -1 is also how Python's conversions report an error.
    assert weighted_sum(np.ones(1), 1, -1.0, False) == -1.0
    assert is_missing(None, -1) == -1


def test_functions_called_by_address_are_loaded_at_their_first_call():
    key = np.zeros(1, np.int64)
    assert call(doubled.address, key, 5) == 6
    assert call(doubled.address, key, 8) == 9
    assert key[0] == 16


def test_an_error_in_a_first_call_by_address_is_raised(monkeypatch):
    # Fails if the error is lost in compiled code, or ends the process.
    from brachiate.compiled import machine_code  # noqa: PLC0415

    def fail(*_):
        raise MemoryError("no room for machine code")

    monkeypatch.setattr(machine_code, "load_function", fail)
    cell = machine_code.AddressCell(doubled.py_func)
    with pytest.raises(MemoryError, match="no room for machine code"):
        call(cell.address, np.zeros(1, np.int64), 1)
    monkeypatch.undo()
    assert call(cell.address, np.zeros(1, np.int64), 1) == 2  # the next call finds it


def test_threads_run_at_once_and_agree():
    x, results = np.arange(1000.0), []
    threads = [threading.Thread(target=lambda: results.append(weighted_sum(x, 1000, 0.5, False))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [x.sum() / 2] * 8


def test_entries_are_copied_and_pickled_by_name():
    from brachiate.simulate.euler import run_euler  # noqa: PLC0415

    assert pickle.loads(pickle.dumps(run_euler)) is run_euler
    assert copy.deepcopy(run_euler) is run_euler


@pytest.mark.parametrize("field", ["TYPE", "DATA", "AXES", "DIMENSIONS", "ITEM_TYPE", "FLAGS", "TYPE_NUMBER", "BYTE_ORDER"])
def test_another_layout_of_arrays_is_refused(field, monkeypatch):
    # Fails if compiled code would read the head of arrays at wrong places, as in a free-threaded build of Python.
    from brachiate.compiled import array_layout  # noqa: PLC0415

    array_layout.check_layout()
    monkeypatch.setattr(array_layout, field, getattr(array_layout, field) - 1 if field == "BYTE_ORDER" else 4)
    monkeypatch.setattr(array_layout, "DIMENSIONS", array_layout.AXES - 8) if field == "DIMENSIONS" else None
    with pytest.raises(SettingError, match="BRACHIATE_COMPILED=off"):
        array_layout.check_layout()
