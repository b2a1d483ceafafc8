"""Contact labels: intervals, their text file, and files that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.errors import ArgumentError, BrachiateError, MotionFileError
from brachiate.motion.contact_labels import ContactInterval, ContactLabels, load_contact_labels
from brachiate.motion.terrain import Terrain


def test_saved_labels_are_read_back(tmp_path):
    labels = ContactLabels(
        (
            ContactInterval("left_heel", 0.0, 0.5),
            ContactInterval("right_hand", 0.25, 1.0, "grip"),
            ContactInterval("left_toe", 0.5, 0.75, "support", 0.3),
        ),
        Terrain(0.01, 2.0, 30.0, 0.7, (0.0, -1.25)),
    )
    path = tmp_path / "contacts.txt"
    labels.save(path)
    again = load_contact_labels(path)
    assert again.terrain == labels.terrain
    assert set(again.contacts) == set(labels.contacts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("left_heel 0 1", "first line"),
        ("# brachiate contacts 1\nleft_heel 0", "line 2.*2 words"),
        ("# brachiate contacts 1\nleft_heel 0 x", "line 2"),
        ("# brachiate contacts 1\nleft_heel 1 0", "ends at 0 s"),
        ("# brachiate contacts 1\nleft_heel 0 1 sits", "sits"),
        ("# brachiate contacts 1\nleft_heel 0 nan", "line 2"),
        ("# brachiate contacts 1\nterrain height=high", "line 2"),
        ("# brachiate contacts 1\nterrain hight=1", "line 2"),
        ("# brachiate contacts 1\nterrain belt=1", "line 2"),
        ("# brachiate contacts 1\nleft_heal 0 1", "left_heel"),
    ],
)
def test_malformed_files_are_refused(text, message, tmp_path):
    path = tmp_path / "contacts.txt"
    path.write_text(text)
    with pytest.raises(BrachiateError, match=message):
        load_contact_labels(path, ["left_heel", "right_heel"])


def test_files_written_by_hand(tmp_path):
    path = tmp_path / "contacts.txt"
    path.write_text("# brachiate contacts 1  by me\n\nleft_heel 0 1   # all the time\nright_hand 0.5 1 grip\n")
    labels = load_contact_labels(path)
    assert labels.contacts == (ContactInterval("left_heel", 0.0, 1.0), ContactInterval("right_hand", 0.5, 1.0, "grip"))
    assert labels.active("right_hand", np.array((0.4, 0.5, 1.0, 1.1))).tolist() == [False, True, True, False]


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(MotionFileError, match="no such file"):
        load_contact_labels(tmp_path / "none.txt")


def test_kinds_and_ground_line_of_version_0_1(tmp_path):
    path = tmp_path / "contacts.txt"
    path.write_text("# brachiate contacts 1\nground height=0.1\nleft_heel 0 1 stands ground\nright_hand 0.5 1 holds\n")
    labels = load_contact_labels(path)
    assert [label.kind for label in labels.contacts] == ["support", "grip"]
    assert labels.terrain == Terrain(0.1)


def test_interval_is_checked():
    with pytest.raises(ArgumentError, match="kind of a contact: 'sits' is not one of: support, grip"):
        ContactInterval("left_heel", 0.0, 1.0, "sits")


def test_shift_moves_all_intervals():
    labels = ContactLabels((ContactInterval("left_heel", 0.0, 1.0), ContactInterval("right_hand", 0.5, 1.0, "grip")), Terrain(0.0))
    assert [(c.start, c.end) for c in labels.shift(0.25).contacts] == [(0.25, 1.25), (0.75, 1.25)]
