# SPDX-License-Identifier: Apache-2.0
"""Charts: well-formed whatever the labels are, true to their values, readable without colour.

The matrix of pairs: well-formed whatever the labels are, true to its figures, a table on each side.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.report.charts import Bar, Fill, bar_chart, class_size_bins, histogram, pair_matrix, safe_text, size_ticks

SVG = "{http://www.w3.org/2000/svg}"


@given(st.lists(st.text(st.characters(), max_size=60), max_size=5), st.data())
def test_a_cell_is_as_dark_as_its_figure(labels: list[str], data: st.DataObject) -> None:
    """Darkness is the share of the largest figure; titles say both names and the figure."""
    pairs = list(combinations(range(len(labels)), 2))
    figures = st.fixed_dictionaries({pair: st.floats(0, 1) for pair in pairs})
    below, above = data.draw(figures), data.draw(figures)
    svg = ElementTree.fromstring(pair_matrix(labels, below, above, name="m", title="<T>", description="&D"))

    most = max([*below.values(), *above.values(), 0.0])
    drawn = [
        (float(square.get("x", "")), float(square.get("y", "")), float(square.get("fill-opacity", "")), square[0].text)
        for square in svg.iter(f"{SVG}rect")
    ][: 2 * len(pairs)]
    columns = sorted({x for x, *_ in drawn})
    for x, y, darkness, told in drawn:
        row, column = round((y - 20) / 22), columns.index(x)
        pair = (min(row, column), max(row, column))
        value = (below if column < row else above)[pair]
        assert abs(darkness - (value / most if most else 0)) <= 0.0051
        names = " and ".join(safe_text(labels[at]) for at in pair)
        assert "".join((told or "").split()) == "".join(f"{names}: {value:.3f}".split())


texts = st.text(st.characters(), max_size=60)
values = st.floats(-1e9, 1e9)
bars = st.lists(st.builds(Bar, label=texts, value=values, text=texts, fill=st.sampled_from(Fill)), max_size=8)
sizes = st.dictionaries(st.integers(1, 10**7), st.integers(1, 1000), min_size=1, max_size=40).map(
    lambda d: sorted(d.items())
)


def _bar_chart(drawn: list[Bar]) -> str:
    return bar_chart(drawn, name="c", title="<T>", description="&D", legend=dict.fromkeys(Fill, "<meaning>"))


def _histogram(drawn: list[Bar]) -> str:
    return histogram(drawn, [(0, "0"), (len(drawn), "<n>")], name="h", title="T", description="D", axis="<axis>")


charts = pytest.mark.parametrize("chart", [_bar_chart, _histogram])


def _rectangles(svg: str) -> list[ElementTree.Element]:
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return [group[0] for group in groups if group.get("class") == "bars" and group[0].tag == f"{SVG}rect"]


@charts
@given(drawn=bars)
def test_a_chart_is_well_formed_whatever_its_labels_are(chart, drawn: list[Bar]) -> None:
    """Labels are untrusted: markup, quotes, control characters and surrogates in them change no element."""
    plain = [Bar(label="x", value=bar.value, text="x", fill=bar.fill) for bar in drawn]

    found, expected = (ElementTree.fromstring(chart(some)) for some in (drawn, plain))

    assert [one.tag for one in found.iter()] == [one.tag for one in expected.iter()]
    assert [sorted(one.keys()) for one in found.iter()] == [sorted(one.keys()) for one in expected.iter()]


@charts
@given(drawn=bars)
def test_full_labels_and_values_can_be_read_out(chart, drawn: list[Bar]) -> None:
    """Every bar has its whole label and value in a title, however short the visible label is."""
    titles = [one.text or "" for one in ElementTree.fromstring(chart(drawn)).iter(f"{SVG}title")]

    expected = [safe_text(f"{bar.label}: {bar.text}") for bar in drawn]

    assert titles[1:] == [text.replace("\r", "\n") for text in expected]


@charts
@given(drawn=bars)
def test_a_chart_refers_to_nothing_outside(chart, drawn: list[Bar]) -> None:
    """No script, style, link or handler; every id that is referred to is in the chart, once."""
    root = ElementTree.fromstring(chart(drawn))
    ids = [one.get("id") for one in root.iter() if one.get("id")]
    attributes = [(name, value) for one in root.iter() for name, value in one.items()]

    assert len(ids) == len(set(ids))
    assert not {one.tag.removeprefix(SVG) for one in root.iter()} & {
        "script",
        "style",
        "a",
        "image",
        "use",
        "foreignObject",
    }
    assert not [name for name, _ in attributes if "href" in name or name.startswith("on") or name == "style"]
    assert set(re.findall(r"url\(#([^)]*)\)", " ".join(value for _, value in attributes))) <= set(ids)
    assert set(str(root.get("aria-labelledby")).split()) <= set(ids)


@given(lengths=st.lists(st.floats(-5, 100), min_size=1, max_size=10))
def test_bars_are_as_long_as_their_values(lengths: list[float]) -> None:
    """Lengths are proportional to the largest value; below zero there is no bar."""
    drawn = [Bar(label="x", value=value, text="v") for value in lengths]

    svg = bar_chart(drawn, name="c", title="T", description="D")

    largest = max(lengths)
    widths = [float(str(one.get("width")).rstrip("%")) for one in _rectangles(svg)]
    assert widths == pytest.approx([100 * max(v, 0) / largest if largest > 0 else 0 for v in lengths], abs=1e-3)


@given(heights=st.lists(st.floats(0, 100), min_size=1, max_size=30))
def test_columns_stand_side_by_side_on_one_line(heights: list[float]) -> None:
    """Columns do not overlap, stay inside the chart, end on the axis, and are as high as their values."""
    drawn = [Bar(label="x", value=value, text="v") for value in heights]

    rectangles = _rectangles(histogram(drawn, [], name="h", title="T", description="D", axis="rows"))

    left = [float(str(one.get("x")).rstrip("%")) for one in rectangles]
    right = [at + float(str(one.get("width")).rstrip("%")) for at, one in zip(left, rectangles, strict=True)]
    tall = [float(str(one.get("height"))) for one in rectangles]
    assert left[0] >= 0
    assert right[-1] <= 100
    assert all(end < start for end, start in zip(right, left[1:], strict=False))
    assert {round(float(str(one.get("y"))) + high, 1) for one, high in zip(rectangles, tall, strict=True)} == {158.0}
    assert tall == pytest.approx([140 * value / max(heights) if max(heights) > 0 else 0 for value in heights], abs=0.01)


def test_fills_differ_without_colour() -> None:
    """Solid, hatched and open bars are painted in three ways."""
    svg = bar_chart(
        [Bar(label="x", value=1, text="", fill=fill) for fill in Fill], name="c", title="T", description="D"
    )

    assert len({one.get("fill") for one in _rectangles(svg)}) == len(Fill)


@pytest.mark.parametrize("letter", ["a", "漢"])
def test_long_labels_are_cut_by_their_width(letter: str) -> None:
    """A label takes 44 columns at most, wide characters two each, and says that it was cut."""
    svg = bar_chart([Bar(label=letter * 100, value=1, text="1")], name="c", title="T", description="D")

    shown = next(one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text"))

    assert shown.endswith("…")
    assert 40 <= sum(2 if unicodedata.east_asian_width(one) == "W" else 1 for one in shown) <= 44


@given(text=texts)
def test_safe_text_keeps_what_is_harmless(text: str) -> None:
    """Only controls, overriding directions and lone surrogates are replaced, one for one."""
    safe = safe_text(text)

    safe.encode()
    assert len(safe) == len(text)
    for before, after in zip(text, safe, strict=True):
        harmful = (
            (unicodedata.category(before) in ("Cc", "Cs") and before not in "\t\n")
            or unicodedata.bidirectional(before) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
            or before in "\ufffe\uffff"
        )
        assert after == ("\ufffd" if harmful else before)


@given(sizes=sizes)
def test_bins_hold_every_class_once(sizes: list[tuple[int, int]]) -> None:
    """Bins are adjacent, begin at the smallest size, end at the largest, and add up."""
    bins = class_size_bins(sizes)

    assert bins[0].low == sizes[0][0]
    assert bins[-1].high == sizes[-1][0]
    assert all(one.low <= one.high for one in bins)
    assert all(after.low == one.high + 1 for one, after in itertools.pairwise(bins))
    for one in bins:
        inside = [(size, count) for size, count in sizes if one.low <= size <= one.high]
        assert one.classes == sum(count for _, count in inside)
        assert one.records == sum(size * count for size, count in inside)
    assert len(bins) <= max(12, 3 * len(str(sizes[-1][0])) + 1)


@given(smallest=st.integers(1, 1000), width=st.integers(0, 11))
def test_a_narrow_range_has_one_bin_a_size(smallest: int, width: int) -> None:
    """Classes of almost one size are not thrown together."""
    bins = class_size_bins([(smallest, 1), (smallest + width, 1)] if width else [(smallest, 1)])

    assert [(one.low, one.high) for one in bins] == [(size, size) for size in range(smallest, smallest + width + 1)]


@given(sizes=sizes)
def test_ticks_stand_at_the_edges_of_the_bins(sizes: list[tuple[int, int]]) -> None:
    """Ticks ascend inside the plot and cover both ends."""
    bins = class_size_bins(sizes)
    ticks = size_ticks(bins)
    positions = [at for at, _ in ticks]

    assert positions == sorted(set(positions))
    assert positions[0] in (0, 0.5)
    assert positions[-1] in (len(bins), len(bins) - 0.5)
    assert all(re.fullmatch(r"[0-9]+(\.[0-9])?[kMG]?", label) for _, label in ticks)


def test_no_class_no_bin() -> None:
    """An empty table has no bins."""
    assert class_size_bins([]) == []
