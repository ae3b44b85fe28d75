# SPDX-License-Identifier: Apache-2.0
"""The plot of a comparison as SVG: one mark a release, measured risk across, what models keep upwards.

It is drawn for three grounds: the page, which has a legend beside it; a notebook, whose ink and ground are not known,
so that text takes the colour of the text around it; and a file of its own, on white.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from anonkit.report.charts import safe_text
from anonkit.report.document import OWNER_BANNER

_Scale: TypeAlias = Callable[[float], float]
"""Position of a figure on an axis, in pixels."""

WIDTH, HEIGHT = 760, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 24, 18, 52
MARKS = ("circle", "square", "triangle", "diamond", "ring", "frame")
MEASURES = {"auc": "AUC", "r2": "R²"}

_COLOURS = (
    ".anonkit-figure .m0{color:#2f7fb5}.anonkit-figure .m1{color:#cf5f26}.anonkit-figure .m2{color:#3a8d4a}"
    ".anonkit-figure .m3{color:#a85ca3}.anonkit-figure .m4{color:#967a10}.anonkit-figure .m5{color:#75808c}"
)
"""Between light and dark: each has a contrast of 3.5 or more to white and to black grounds."""


@dataclass(frozen=True, kw_only=True)
class FrontierFigure:
    """The plot of a comparison, which notebooks show and `svg` holds as the text of a file of its own.

    Privacy
    -------
    Computed from the source: for the owner, and the figure states so.
    """

    document: Mapping[str, Any]
    """The comparison, as `Comparison.to_dict` gives it."""

    @property
    def svg(self) -> str:
        """The figure on white, for a file or a slide; it needs nothing outside."""
        return self._svg(f'width="{WIDTH}" style="color: #1b1f24; background: #fff" ')

    def _repr_html_(self) -> str:
        return self.inline_svg()

    def inline_svg(self) -> str:
        """Return the figure for a page whose ink and ground it takes."""
        return self._svg('style="max-width: 100%; height: auto" ')

    def _svg(self, look: str) -> str:
        measure = measure_of(self.document)
        points, raw = self.document["points"], self.document["raw"][measure]
        plotted = drawable(points, measure)
        if not plotted:
            return _empty(look)
        legend, height = _legend_lines(list(dict.fromkeys(point["method"] for point in plotted)))
        base = HEIGHT + height
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="anonkit-figure" {look}'
            f'viewBox="0 0 {WIDTH} {base + 30}" role="img" aria-label="{_text(title_of(plotted, measure))}" '
            f'font-family="system-ui, sans-serif" font-size="13" fill="currentColor">'
            f"<style>{_COLOURS}</style>{plot(plotted, raw, measure)}{legend}"
            f'<text x="{_LEFT}" y="{base + 16}" font-size="12">{_text(OWNER_BANNER)}</text></svg>'
        )


def measure_of(document: Mapping[str, Any]) -> str:
    """Return by what the best model of a comparison is the best: `auc` of classes, `r2` of a number."""
    return "r2" if document.get("task") == "regression" else "auc"


def drawable(points: Sequence[Mapping[str, Any]], measure: str) -> list[Mapping[str, Any]]:
    """Return the releases that have a place on the plot."""
    return [point for point in points if point[measure] is not None and "linkability" in point["attacks"]]


def title_of(plotted: Sequence[Mapping[str, Any]], measure: str) -> str:
    """Return the text that is read out instead of the plot."""
    return f"{len(plotted)} releases by linkability risk and {MEASURES[measure]}"


def plot(plotted: Sequence[Mapping[str, Any]], raw: float | None, measure: str) -> str:
    """Return axes and marks, in a space of WIDTH x HEIGHT pixels: the shape by method, limits as a line."""
    heights = [point[measure] for point in plotted] + ([raw] if raw is not None else [])
    low, high = _span(heights, 0.0 if measure == "auc" else -math.inf)
    right = min(1.0, 1.15 * max(0.02, *(point["attacks"]["linkability"]["ci"][1] for point in plotted)))

    def x(risk: float) -> float:
        return float(_LEFT + (WIDTH - _LEFT - _RIGHT) * math.sqrt(min(max(risk, 0.0) / right, 1.0)))

    def y(auc: float) -> float:
        return float(_TOP + (HEIGHT - _TOP - _BOTTOM) * (high - auc) / (high - low))

    parts = _axes(x, y, (low, high), right, MEASURES[measure])
    if raw is not None:
        parts.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(raw):.1f}" y2="{y(raw):.1f}" stroke="currentColor" '
            f'stroke-dasharray="6 4"/><text x="{WIDTH - _RIGHT}" y="{y(raw) - 6:.1f}" text-anchor="end">'
            f"the rows as they are: {raw:.3f}</text>"
        )
    methods = list(dict.fromkeys(point["method"] for point in plotted))
    taken: list[tuple[float, float]] = []
    for number, method in enumerate(methods):
        parts.append(
            _curve(
                [point for point in plotted if point["method"] == method], number, x, lambda point: y(point[measure])
            )
        )
    places = [(x(point["attacks"]["linkability"]["risk"]), y(point[measure])) for point in plotted]
    for point, (across, up) in zip(plotted, places, strict=True):
        parts.append(_name(_short(point), across, up, places, taken))
    return "".join(parts)


def _axes(x: _Scale, y: _Scale, heights: tuple[float, float], right: float, measure: str) -> list[str]:
    base, parts = HEIGHT - _BOTTOM, []
    for auc in _ticks(*heights):
        parts.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(auc):.1f}" y2="{y(auc):.1f}" stroke="currentColor" '
            f'stroke-opacity=".15"/><text x="{_LEFT - 8}" y="{y(auc) + 4:.1f}" text-anchor="end">{auc:g}</text>'
        )
    for risk in _ticks(0.0, right):
        parts.append(f'<text x="{x(risk):.1f}" y="{base + 18}" text-anchor="middle">{risk:g}</text>')
    parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{base}" y2="{base}" stroke="currentColor"/>')
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{base + 40}" text-anchor="middle">linkability risk (square-root scale)</text>')
    turned = f'transform="rotate(-90 14 {_TOP + 150})"'
    parts.append(f'<text x="14" y="{_TOP + 150}" text-anchor="middle" {turned}>{measure}</text>')
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Return four to ten round numbers in a range."""
    step = next(s * 10.0**e for e in range(-6, 2) for s in (1, 2, 5) if (high - low) / (s * 10.0**e) <= 8)
    first = math.ceil(low / step - 1e-9)
    return [round(at * step, 9) for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _curve(
    points: Sequence[Mapping[str, Any]], number: int, x: _Scale, height: Callable[[Mapping[str, Any]], float]
) -> str:
    """Return the releases of one method: marks with their limits, joined in the order of the parameter."""
    places = [(x(point["attacks"]["linkability"]["risk"]), height(point)) for point in points]
    joined = " ".join(f"{across:.1f},{up:.1f}" for across, up in places)
    parts = [f'<polyline points="{joined}" fill="none" stroke="currentColor" stroke-width="1.5"/>']
    for point, (across, up) in zip(points, places, strict=True):
        left, right = (x(limit) for limit in point["attacks"]["linkability"]["ci"])
        parts.append(
            f"<g><title>{_text(point['label'])}</title>"
            f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{up:.1f}" y2="{up:.1f}" stroke="currentColor" '
            f'stroke-opacity=".35"/>{shape(number, across, up)}</g>'
        )
    return f'<g class="mark m{number % len(MARKS)}">{"".join(parts)}</g>'


def _name(
    text: str, across: float, up: float, marks: Sequence[tuple[float, float]], taken: list[tuple[float, float]]
) -> str:
    """Return a mark's name beside it, on the first free side; nothing where all sides are taken."""
    width = 7.0 * len(text)
    for left, line in itertools.product((across + 9, across - 9 - width), (up - 7, up + 17)):
        free = all(abs(line - other) > 13 or left + width < beside or left > beside + 50 for beside, other in taken)
        free &= all(abs(line - 4 - other) > 10 or not left - 6 < mark < left + width + 6 for mark, other in marks)
        if free and _LEFT <= left <= WIDTH - width:
            taken.append((left, line))
            return f'<text class="name" x="{left:.1f}" y="{line:.1f}">{_text(text)}</text>'
    return ""


def _short(point: Mapping[str, Any]) -> str:
    return str(point["setting"] or point["method"])


def shape(number: int, x: float, y: float) -> str:
    """Return the mark of a method by its place in the list."""
    kind = MARKS[number % len(MARKS)]
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="currentColor"/>'
    if kind == "square":
        return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="currentColor"/>'
    if kind == "ring":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="currentColor" stroke-width="2"/>'
    if kind == "frame":
        outline = f'x="{x - 6.5:.1f}" y="{y - 6.5:.1f}" width="13" height="13"'
        return f'<rect {outline} fill="none" stroke="currentColor" stroke-width="2"/>'
    path = "M0,-7 L6,5 L-6,5 Z" if kind == "triangle" else "M0,-7 L6,0 L0,7 L-6,0 Z"
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{path}" fill="currentColor"/>'


def _span(values: Sequence[float], least: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = max(0.01, (high - low) * 0.12)
    return max(least, low - margin), min(1.0, high + margin)


def _legend_lines(methods: Sequence[str]) -> tuple[str, float]:
    """Return the methods with their marks, in lines below the plot, and how high they are."""
    parts, x, y = [], float(_LEFT), float(HEIGHT + 8)
    for number, name in enumerate(methods):
        width = 30 + 7.5 * len(name)
        if x + width > WIDTH and x > _LEFT:
            x, y = float(_LEFT), y + 22
        parts.append(
            f'<g class="m{number % len(MARKS)}">{shape(number, x + 8, y - 4)}</g>'
            f'<text x="{x + 20:.1f}" y="{y:.1f}">{_text(name)}</text>'
        )
        x += width
    return "".join(parts), y - HEIGHT + 8


def _empty(look: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {look}viewBox="0 0 {WIDTH} 40" font-family="sans-serif" '
        'font-size="13" fill="currentColor"><text x="8" y="24">No release could be measured.</text></svg>'
    )


def _text(text: object) -> str:
    return escape(safe_text(str(text)))
