"""Fixtures that write model files and read them with the package."""

from __future__ import annotations

import warnings

import pytest

from brachiate.io import ModelFileWarning, load_model


@pytest.fixture
def write(tmp_path):
    """Write a text or bytes to a file and return its path."""

    def write_(content, name="model.xml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_


@pytest.fixture
def mjcf(write):
    """Read MJCF from the content of its <mujoco> element; a warning is an error."""
    return lambda inside, **more: load_model(write(f'<mujoco model="test">{inside}</mujoco>'), **more)


@pytest.fixture
def urdf(write):
    """Read URDF from the content of its <robot> element; a warning is an error."""
    return lambda inside, **more: load_model(write(f'<robot name="test">{inside}</robot>', "model.urdf"), **more)


@pytest.fixture
def sdf(write):
    """Read SDF from the content of its <model> element; a warning is an error."""
    return lambda inside, **more: load_model(write(f'<sdf version="1.6"><model name="m">{inside}</model></sdf>', "model.sdf"), **more)


@pytest.fixture
def warned():
    """Return the result of reading and its single warning."""

    def warned_(read, *args, **more):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = read(*args, **more)
        assert [w.category for w in caught] == [ModelFileWarning]
        assert caught[0].filename == __file__, "the warning points to the caller of load_model"
        return model, str(caught[0].message)

    return warned_
