"""Sheets for browsers: everything is in the file, nothing in it runs, and words stay words."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

from brachiate.evaluation.metric_names import ROWS, TOLD, compared
from brachiate.show import html

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")


class Reader(HTMLParser):
    """Tags, words, and whether every tag that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data.strip())


def test_a_sheet_is_whole(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    parts = [
        html.heading("<b>walk</b>", 1),
        html.words("a & b", "bad"),
        html.table(("what", "much"), [("x<y", "1"), ("z", "2")], (1,)),
        html.picture(tmp_path / "a.png", 'a "dot"'),
        html.files(["a.png"]),
    ]
    text = html.sheet("t & t", parts)
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert {"<b>walk</b>", "a & b", "x<y", "t & t"} <= set(reader.words)
    assert not re.search(r"https?:|<script|@import|url\(", text)
    (image,) = [attributes for tag, attributes in reader.tags if tag == "img"]
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) == PNG
    assert image["alt"] == 'a "dot"'
    assert [attributes.get("class") for tag, attributes in reader.tags if tag == "td"] == [None, "right", None, "right"]
    assert ("a", {"href": "a.png"}) in reader.tags


def test_numbers_are_compared_by_their_units():
    keys = [key for row in ROWS.values() for key in (row[1], row[3]) if key]
    rows = list(compared(dict.fromkeys(keys, 0.5), dict.fromkeys(keys, 2.0)))
    assert rows[:2] == [("force nobody brings", "0.5", "2.0", "N RMS"), ("", "0.5", "2.0", "N peak")]
    assert ("", "50 %", "200 %", "of it above 0.05") in rows
    assert [row[0] for row in rows if row[0]] == [ROWS[name][0] for name in TOLD]
