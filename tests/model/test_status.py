"""Status codes of kernels: each has an error in words."""

from __future__ import annotations

import pytest

import brachiate as br
from brachiate.model import status
from brachiate.model.data import Data

CODES = {name: value for name, value in vars(status).items() if name.isupper() and value != status.OK}


@pytest.mark.parametrize("name", CODES)
def test_every_status_is_an_error_in_words(name):
    """Fails if a code is added without a message: users would see an AssertionError or a number."""
    with pytest.raises(br.StateError) as error:
        Data(br.figures.human16()).raise_status(CODES[name])
    assert "please report" not in str(error.value)
    assert len(str(error.value)) > 20


def test_codes_are_distinct():
    assert len(set(CODES.values())) == len(CODES)


def test_unknown_status_is_reported():
    with pytest.raises(br.StateError, match="status 99"):
        Data(br.figures.human16()).raise_status(99)
