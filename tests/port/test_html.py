"""The page: self-contained, complete, well-formed, and silent about times that mean nothing."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from jaxkit.port import html, plots
from jaxkit.port.declare import Picture

RUN = json.loads((Path(__file__).parent / "made_up_run.json").read_text())
VOID = {"meta", "link", "img", "br", "source"}


class Reader(HTMLParser):
    """Collects elements and text, and notes tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text, self.faults = [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def picture(change=0):
    before = np.tile(np.arange(64, dtype=np.uint8)[:, None, None], (1, 200, 3))
    return Picture("A ramp <b>", before, before, before + np.uint8(change))


@pytest.fixture(scope="module")
def page():
    return Reader(html.page(RUN, [[picture(1)], [], [], []]))


def test_tags_are_closed_in_order(page):
    assert page.faults == [] and page.open == []


def test_nothing_is_fetched(page):
    for name in ("src", "href", "srcset"):
        for _, attributes in page.elements:
            assert attributes.get(name, "#").startswith(("#", "data:"))
    assert not page.all("script")
    assert "@import" not in html.page(RUN) and "url(" not in html.page(RUN)


def test_every_image_has_words(page):
    assert len(page.all("img")) == 4 + 2
    assert all(image["alt"].strip() for image in page.all("img"))


def test_headings_descend_one_step_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in zip(levels, levels[1:], strict=False))


def test_labels_and_links_meet_their_targets(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
        assert attributes.get("aria-labelledby", ids[0]) in ids


def test_page_is_for_phones_and_dark_mode(page):
    assert any(m.get("name") == "viewport" and "width=device-width" in m["content"] for m in page.all("meta"))
    assert "prefers-color-scheme: dark" in html.page(RUN)
    assert len(page.all("source")) == 2


def test_all_that_was_found_is_there(page):
    for part in ("129×", "39.9 ms", "131×", "amplified ×128", "The blur works in fixed point", "AMD EPYC 7713"):
        assert part in page.text
    for part in ("4 executables for one", "rotate.degrees", "jaxkit, from a PyTorch DataLoader", "One executable"):
        assert part in page.text


def test_no_time_where_parity_failed():
    record = RUN[2] | {"measurement": RUN[0]["measurement"]}
    read = Reader(html.page([record]))
    assert "×" not in read.text and "5.23 s" not in read.text and not read.all("img")
    assert "Nothing was timed" in read.text


def test_text_of_ports_is_escaped(page):
    assert "A ramp <b>" in page.text and not page.all("b")
    hostile = Reader(html.page([RUN[3] | {"error": "<script>alert(1)</script>", "claim": "a & b < c"}]))
    assert not hostile.all("script") and "<script>alert(1)</script>" in hostile.text and "a & b < c" in hostile.text


def test_a_reduced_picture_says_so():
    large = np.zeros((10, 2500, 3), np.uint8)
    text = Reader(html.page(RUN[:1], [[Picture("large", large, large, large)]])).text
    assert text.count("shown at 1/3 of its size") == 4


def test_a_limit_that_is_switched_off_does_not_count():
    off = {"name": "widenings", "passed": True, "value": 3, "limit": None, "message": "3 conversions"}
    text = Reader(html.page([RUN[0] | {"limits": [*RUN[0]["limits"], off]}])).text
    assert "no limit" in text and "4/4" in text and "5/5" not in text


def test_ports_of_one_name_keep_apart():
    read = Reader(html.page([RUN[0], RUN[0]], [[picture()], []]))
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) and read.text.count("A ramp") == 1


def test_an_empty_run_has_a_page():
    assert "0 of 0 ports passed" in Reader(html.page([])).text


def svg(drawing):
    return base64.b64decode(drawing.uri.split(",", 1)[1]).decode()


def test_plot_names_sides_units_and_sizes():
    drawing = plots.times(RUN[0]["measurement"])
    text = svg(drawing)
    for part in ("slow", "jaxkit", "best numpy", "opencv", "machine's limit", "time of one call", "256", " ms<"):
        assert part in text
    assert "slow 5.23 s at size 64" in drawing.alt and "jaxkit 162 ms at size 256" in drawing.alt


def test_plot_of_one_size_is_bars_with_their_times():
    text = svg(plots.times(RUN[1]["measurement"]))
    assert "912 ms" in text and "70.0 ms" in text and "174 ms" in text


def test_plot_is_the_same_each_time_and_has_two_inks():
    assert plots.times(RUN[0]["measurement"]) == plots.times(RUN[0]["measurement"])
    assert plots.times(RUN[0]["measurement"]).uri != plots.times(RUN[0]["measurement"], dark=True).uri


def test_plots_leave_matplotlib_as_it_was():
    import matplotlib

    before = dict(matplotlib.rcParams)
    plots.times(RUN[0]["measurement"])
    assert dict(matplotlib.rcParams) == before


def test_png_holds_the_picture():
    from io import BytesIO

    from PIL import Image

    colour = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(plots.png(colour)))), colour)
    grey = colour[..., :1]
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(plots.png(grey)))), grey[..., 0])
