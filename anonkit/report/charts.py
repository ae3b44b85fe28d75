# SPDX-License-Identifier: Apache-2.0
"""Small bar charts as inline SVG text: no script, no network, legible in black and white, on any width and in the dark.

Horizontal measures are percentages and text has a fixed size, so that a chart fits its column without shrinking its
words. Bars differ in fill and pattern, never in hue alone, and take their colour from the text around them
(`currentColor`; the group `bars` may be given another by a style sheet). Labels are untrusted text.

A shaded matrix of all pairs of columns as inline SVG text: below the diagonal one table, above it the other.

As the [bar charts][anonkit.report.charts] it needs no script, takes its colour from the text around it, and shows its
figures by darkness alone. Labels are untrusted text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_LABEL_WIDTH = 44
"""Columns of a bar's label that are shown; the rest is in its title."""
_ROW = 36
_PAIR = 44
_PAIR_LABEL = 26
"""The same of a pair of bars, which has two values beside its label."""
_LEGEND = 28
_LETTER = 7.5
"""Width set aside for a letter of the legend, in pixels."""
_PLOT = 140
_GAP = 0.6
"""Share of the width, in percent, left between the columns of a histogram."""
_CROWDED = 12
"""Histograms with more columns label only their decades."""


class Fill(Enum):
    """The fill of a bar: three ways that can be distinguished without colour."""

    SOLID = "solid"
    HATCHED = "hatched"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar of a chart."""

    label: str
    value: float
    """Length of the bar, in any unit; below zero counts as zero."""
    text: str
    """The value as it is written at the bar."""
    fill: Fill = Fill.SOLID


@dataclass(frozen=True, kw_only=True)
class BarPair:
    """Two bars with one label: of one thing before and after."""

    label: str
    before: float
    after: float | None
    """None: there is no second bar."""
    text: str
    """Both values as they are written."""


@dataclass(frozen=True, kw_only=True)
class SizeBin:
    """Equivalence classes of similar size."""

    low: int
    """Smallest size in the bin."""
    high: int
    """Largest size in the bin."""
    classes: int
    records: int


def safe_text(text: str) -> str:
    """Return a text without characters that break or disguise a page: controls, overriding directions, lone surrogates.

    Each becomes the replacement character. The result is not escaped.
    """
    return _UNFIT.sub("\ufffd", text)


def bar_chart(
    bars: Sequence[Bar], *, name: str, title: str, description: str, legend: Mapping[Fill, str] | None = None
) -> str:
    """Return a horizontal bar chart, one row a bar, longest bar as wide as the chart.

    Parameters
    ----------
    bars : sequence of Bar
        In the order they are drawn.
    name : str
        Prefix of the ids inside; letters and digits, unique in the page.
    title, description : str
        Read out instead of the drawing.
    legend : mapping, optional
        What the fills mean.
    """
    longest = max((bar.value for bar in bars), default=0.0)
    top = _LEGEND if legend else 0
    parts = []
    for number, bar in enumerate(bars):
        y = top + number * _ROW
        width = 100 * max(bar.value, 0.0) / longest if longest > 0 else 0.0
        parts.append(
            f"<g><title>{svg_text(f'{bar.label}: {bar.text}')}</title>"
            f'<svg x="0" y="{y}" width="78%" height="20">'
            f'<text x="0" y="14">{svg_text(shortened(bar.label))}</text></svg>'
            f'<text x="100%" y="{y + 14}" text-anchor="end">{svg_text(bar.text)}</text>'
            f'<line x1="0" x2="100%" y1="{y + 30.5}" y2="{y + 30.5}" stroke="currentColor" stroke-opacity=".2"/>'
            f"{_rectangle(name, bar.fill, '0', y + 20, f'{width:.3f}%', 10)}</g>"
        )
    return _figure(name, title, description, top + len(bars) * _ROW, _legend(name, legend) + "".join(parts))


def paired_bar_chart(pairs: Sequence[BarPair], *, name: str, title: str, description: str) -> str:
    """Return a horizontal chart of pairs of bars, the first of each open and the second solid, on one scale.

    Parameters
    ----------
    pairs : sequence of BarPair
        In the order they are drawn; the longest bar is as wide as the chart.
    name, title, description
        As in `bar_chart`.
    """
    longest = max((value for pair in pairs for value in (pair.before, pair.after or 0.0)), default=0.0)
    parts = []
    for number, pair in enumerate(pairs):
        y = number * _PAIR
        bars = [(pair.before, Fill.OPEN), *([] if pair.after is None else [(pair.after, Fill.SOLID)])]
        marks = [
            _rectangle(name, fill, "0", y + 20 + at * 8, f"{100 * value / longest if longest > 0 else 0:.3f}%", 7)
            for at, (value, fill) in enumerate(bars)
        ]
        parts.append(
            f"<g><title>{svg_text(f'{pair.label}: {pair.text}')}</title>"
            f'<svg x="0" y="{y}" width="64%" height="19">'
            f'<text x="0" y="14">{svg_text(shortened(pair.label, _PAIR_LABEL))}</text></svg>'
            f'<text x="100%" y="{y + 14}" text-anchor="end">{svg_text(pair.text)}</text>{"".join(marks)}</g>'
        )
    return _figure(name, title, description, len(pairs) * _PAIR, "".join(parts))


def histogram(
    bars: Sequence[Bar],
    ticks: Sequence[tuple[float, str]],
    *,
    name: str,
    title: str,
    description: str,
    axis: str,
    legend: Mapping[Fill, str] | None = None,
) -> str:
    """Return a histogram: adjacent columns of one width over an axis.

    Parameters
    ----------
    bars : sequence of Bar
        From left to right; the highest is as high as the plot.
    ticks : sequence of (position, label)
        Position in columns: 0 is the left edge of the first column, `len(bars)` the right edge of the last.
    axis : str
        What the axis measures.
    name, title, description, legend
        As in `bar_chart`.
    """
    top = 18 + (_LEGEND if legend else 0)
    step = 100 / max(len(bars), 1)
    base = top + _PLOT
    highest = max((bar.value for bar in bars), default=0.0)
    parts = [_legend(name, legend)]
    for number, bar in enumerate(bars):
        height = round(_PLOT * max(bar.value, 0.0) / highest, 2) if highest > 0 else 0.0
        label = "" if len(bars) > _CROWDED else _centred(step * (number + 0.5), base - height - 5, bar.text)
        left, width = f"{step * number + _GAP / 2:.3f}%", f"{step - _GAP:.3f}%"
        column = _rectangle(name, bar.fill, left, base - height, width, height)
        parts.append(f"<g><title>{svg_text(f'{bar.label}: {bar.text}')}</title>{column}{label}</g>")
    parts.append(f'<line x1="0" x2="100%" y1="{base + 0.5}" y2="{base + 0.5}" stroke="currentColor"/>')
    for position, label in ticks:
        anchor = "start" if position <= 0 else "end" if position >= len(bars) else "middle"
        parts.append(
            f'<text x="{step * position:.3f}%" y="{base + 17}" text-anchor="{anchor}">{svg_text(label)}</text>'
        )
    parts.append(_centred(50, base + 37, axis))
    return _figure(name, title, description, base + 44, "".join(parts))


def class_size_bins(sizes: Sequence[tuple[int, int]]) -> list[SizeBin]:
    """Return (size, number of classes of that size) pairs as bins, ascending and none left out between the ends.

    A narrow range has one bin a size; a wide one is cut at 1, 2 and 5 times the powers of ten, its ends at the smallest
    and the largest size that occur.
    """
    if not sizes:
        return []
    smallest, largest = min(size for size, _ in sizes), max(size for size, _ in sizes)
    if largest - smallest < _CROWDED:
        starts = list(range(smallest, largest + 1))
    else:
        starts = [smallest, *(edge for edge in _one_two_five(largest) if smallest < edge <= largest)]
    bins = []
    for low, after in zip(starts, [*starts[1:], largest + 1], strict=True):
        inside = [(size, classes) for size, classes in sizes if low <= size < after]
        classes = sum(count for _, count in inside)
        bins.append(
            SizeBin(low=low, high=after - 1, classes=classes, records=sum(size * count for size, count in inside))
        )
    return bins


def size_ticks(bins: Sequence[SizeBin]) -> list[tuple[float, str]]:
    """Return the ticks for a histogram of `class_size_bins`: sizes below single-size columns, edges of wider ones."""
    if all(bin_.low == bin_.high for bin_ in bins):
        return [(number + 0.5, _compact(bin_.low)) for number, bin_ in enumerate(bins)]
    starts = [(float(number), bin_.low) for number, bin_ in enumerate(bins)]
    if len(bins) > _CROWDED:
        starts = [(at, low) for at, low in starts if at == 0 or (at > 1 and _is_power_of_ten(low))]
        starts = [(at, low) for at, low in starts if at == 0 or len(bins) - at > 1]
    return [*((at, _compact(low)) for at, low in starts), (float(len(bins)), _compact(bins[-1].high))]


def _one_two_five(largest: int) -> list[int]:
    return [factor * 10**power for power in range(len(str(largest))) for factor in (1, 2, 5)]


def _is_power_of_ten(number: int) -> bool:
    return str(number).strip("0") == "1"


def _compact(number: int) -> str:
    for step, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= step:
            return f"{number / step:.2g}{letter}" if number < 10 * step else f"{number // step}{letter}"
    return str(number)


def _figure(name: str, title: str, description: str, height: float, body: str) -> str:
    hatch = (
        f'<pattern id="{name}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="currentColor" fill-opacity=".12"/>'
        '<rect width="2" height="6" fill="currentColor"/>'
        "</pattern>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'width="100%" height="{height:g}" font-size="13" fill="currentColor">'
        f'<title id="{name}-title">{svg_text(title)}</title><desc id="{name}-desc">{svg_text(description)}</desc>'
        f'<defs><g class="bars">{hatch}</g></defs>{body}</svg>'
    )


def _rectangle(name: str, fill: Fill, x: str, y: float, width: str, height: float) -> str:
    paint = {Fill.SOLID: "currentColor", Fill.HATCHED: f"url(#{name}-hatch)", Fill.OPEN: "none"}[fill]
    return (
        f'<g class="bars"><rect x="{x}" y="{y:g}" width="{width}" height="{height:g}" '
        f'fill="{paint}" stroke="currentColor"/></g>'
    )


def _legend(name: str, legend: Mapping[Fill, str] | None) -> str:
    out, x = [], 1.0
    for fill, meaning in (legend or {}).items():
        out.append(
            f'{_rectangle(name, fill, f"{x:g}", 3, "16", 10)}<text x="{x + 23:g}" y="13">{svg_text(meaning)}</text>'
        )
        x += 45 + _LETTER * len(meaning)
    return "".join(out)


def _centred(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.3f}%" y="{y:g}" text-anchor="middle">{svg_text(text)}</text>'


def svg_text(text: str) -> str:
    """Return an untrusted text escaped for SVG."""
    return escape(safe_text(text))


def shortened(text: str, most: int = _LABEL_WIDTH) -> str:
    """Cut a label to the width it may take; wide East Asian characters count twice."""
    used = 0
    for at, letter in enumerate(text):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > most:
            return text[: max(at - 1, 0)] + "…"
    return text


_CELL = 22
"""Width and height of a cell, in pixels."""
_LABEL = 24
"""Columns of a label that are shown."""
_MATRIX_LETTER = 7.2
_HEAD = 20
_SCALE = 30
"""Height of the scale below the matrix."""
_STEPS = 5


def pair_matrix(
    labels: Sequence[str],
    below: Mapping[tuple[int, int], float],
    above: Mapping[tuple[int, int], float],
    *,
    name: str,
    title: str,
    description: str,
) -> str:
    """Return a square of pairs as SVG text, of fixed size in pixels.

    Parameters
    ----------
    labels : sequence of str
        Names of the columns.
    below, above : mapping
        A figure of 0 or more for each two places (the lower first), for either side of the diagonal: the darker the
        larger.
    name : str
        Of the chart on its page: the ids within it begin so.
    """
    most = max([*below.values(), *above.values(), 0.0])
    left = 34 + _MATRIX_LETTER * max((min(len(label), _LABEL) for label in labels), default=0)
    body = []
    for at, label in enumerate(labels):
        y = _HEAD + at * _CELL
        body.append(
            f'<text x="{left - 8:g}" y="{y + 15}" text-anchor="end"><title>{svg_text(label)}</title>'
            f"{svg_text(shortened(label, _LABEL))} {at + 1}</text>"
            f'<text x="{left + at * _CELL + _CELL / 2:g}" y="14" text-anchor="middle" font-size="11">{at + 1}</text>'
        )
        for other in range(len(labels)):
            x = left + other * _CELL
            if other == at:
                body.append(f'<path d="M{x:g} {y}l{_CELL} {_CELL}" stroke="currentColor" stroke-opacity=".4"/>')
                continue
            pair = (min(at, other), max(at, other))
            value = (below if other < at else above).get(pair, 0.0)
            caption = f"{labels[pair[0]]} and {labels[pair[1]]}: {value:.3f}"
            body.append(_square(x, y, value / most if most else 0.0, svg_text(caption)))
    bottom = _HEAD + len(labels) * _CELL
    body.append(f'<text x="{left:g}" y="{bottom + 22}" font-size="11">0</text>')
    for step in range(_STEPS):
        body.append(
            _square(left + 12 + step * _CELL, bottom + 7, step / (_STEPS - 1), f"{most * step / (_STEPS - 1):.3f}")
        )
    body.append(f'<text x="{left + 18 + _STEPS * _CELL:g}" y="{bottom + 22}" font-size="11">{most:.2f}</text>')
    width = max(left + len(labels) * _CELL, left + 60 + _STEPS * _CELL) + 2
    height = bottom + _SCALE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart matrix" role="img" width="{width:g}" height="{height}" '
        f'viewBox="0 0 {width:g} {height}" aria-labelledby="{name}-title {name}-desc" font-size="13" '
        f'fill="currentColor"><title id="{name}-title">{svg_text(title)}</title>'
        f'<desc id="{name}-desc">{svg_text(description)}</desc>{"".join(body)}</svg>'
    )


def _square(x: float, y: float, share: float, label: str) -> str:
    return (
        f'<g class="bars"><rect x="{x:g}" y="{y:g}" width="{_CELL}" height="{_CELL}" fill="currentColor" '
        f'fill-opacity="{share:.2f}" stroke="currentColor" stroke-opacity=".25"><title>{label}</title></rect></g>'
    )
