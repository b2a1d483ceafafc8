"""HTML pages: self-contained, without scripts, with escaped text."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

from brachiate.evaluation.metric_names import COMPARED, METRICS, compare
from brachiate.show import html

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")


class Reader(HTMLParser):
    """Parser that collects tags and texts, and checks that tags are balanced."""

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


def test_page_is_complete_and_self_contained(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    parts = [
        html.heading("<b>walk</b>", 1),
        html.paragraph("a & b", "bad"),
        html.table(("what", "much"), [("x<y", "1"), ("z", "2")], (1,)),
        html.picture(tmp_path / "a.png", 'a "dot"'),
        html.files(["a.png"]),
    ]
    text = html.page("t & t", parts)
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


def test_compared_metrics_have_their_units():
    rows = list(compare(dict.fromkeys(METRICS, 0.5), dict.fromkeys(METRICS, 2.0)))
    assert rows[:2] == [("root residual force", "RMS [N]", "0.5", "2.0"), ("", "peak [N]", "0.5", "2.0")]
    assert ("", "above 0.05 m/s [% of contact]", "50", "200") in rows
    assert [row[0] for row in rows if row[0]] == list(dict.fromkeys(METRICS[key].label for key in COMPARED))
