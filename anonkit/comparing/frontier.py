# SPDX-License-Identifier: Apache-2.0
"""The comparison of methods as one self-contained page: measured risk against model utility, with its table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from anonkit.promises.cautious_figures import loss_words
from anonkit.report.charts import safe_text
from anonkit.report.document import OWNER_BANNER

_Scale: TypeAlias = Callable[[float], float]
"""Where a figure stands on an axis, in pixels."""

_WIDTH, _HEIGHT = 760, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 24, 18, 52
_MARKS = ("circle", "square", "triangle", "diamond", "ring", "frame")
_ATTACKS = ("singling_out", "linkability", "inference", "membership")

_MEASURES = {"auc": "AUC", "r2": "R²"}

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fdfdfb; --line: #c8ccd0; --quiet: #59636e;
  --c0: #0b5a8a; --c1: #b8430b; --c2: #2a7536; --c3: #872f83; --c4: #7a6200; --c5: #4c5560; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaec; --paper: #15181b; --line: #3d444b; --quiet: #a3acb5;
    --c0: #78bde8; --c1: #ff9f6b; --c2: #7fd39b; --c3: #d99ad4; --c4: #e0c35a; --c5: #b6bcc3; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
main { max-width: 1120px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .4rem; }
p { max-width: 68ch; margin: .4rem 0; }
.banner { border-left: 4px solid #b3261e; padding: .3rem .8rem; font-weight: 600; }
.quiet { color: var(--quiet); }
figure { margin: .6rem 0; overflow-x: auto; }
svg { width: 100%; min-width: 560px; height: auto; color: var(--ink); }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg .name { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.m0 { color: var(--c0); } .m1 { color: var(--c1); } .m2 { color: var(--c2); }
.m3 { color: var(--c3); } .m4 { color: var(--c4); } .m5 { color: var(--c5); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; list-style: none; padding: 0; margin: .4rem 0; }
.legend svg { width: 16px; min-width: 16px; height: 16px; color: inherit; vertical-align: -3px; }
.legend span { color: var(--ink); }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-size: .9rem; width: 100%; }
th, td { text-align: right; padding: .35rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
@media (max-width: 700px) { th:first-child, td:first-child { white-space: normal; min-width: 7rem; } }
thead th { font-weight: 600; vertical-align: bottom; white-space: normal; }
@media print { body { background: #fff; color: #000; } }
"""


def frontier_page(comparison: Mapping[str, Any]) -> str:
    """Return a comparison, as `Comparison.to_dict` gives it, as one HTML page without scripts or outside references.

    Privacy
    -------
    For the owner: the page carries the banner that says so.
    """
    points = comparison["points"]
    measure = "r2" if comparison.get("task") == "regression" else "auc"
    raw, name = comparison["raw"][measure], _MEASURES[measure]
    body = [
        "<h1>What each release costs, and what it protects</h1>",
        f'<p class="quiet">Target {_text(comparison["target"])}, {comparison["rows"]:,} rows: '
        f"{_text(comparison['protocol'])}.</p>",
        f'<p class="banner">{_text(OWNER_BANNER)}</p>',
        *_price(comparison["looking"]),
        "<h2>Linkability against what models keep</h2>",
        f"<p>Up and to the left is better. Across: the share of people whose row is found only because it is there, "
        f"with its 95 % limits. Up: {name} of the best model, on held-out rows: trained on the release as it is, or "
        "reconstructed from it as anonkit reconstruct does, where its parameters are there to undo the noise.</p>",
        f"<figure>{scatter(points, raw, measure)}</figure>",
        "<h2>All figures</h2>",
        f'<div class="scroll">{_table(points, comparison["raw"], measure)}</div>',
        *_refused(points),
        '<p class="quiet">A measured risk is a lower bound, by the attacks of anonkit audit; the promise is what holds '
        "against every attacker.</p>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Comparison of releases</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def scatter(points: Sequence[Mapping[str, Any]], raw: float | None, measure: str = "auc") -> str:
    """Return the plot: one mark a release, its shape by method, its label beside it, limits as a line."""
    drawn = [point for point in points if point[measure] is not None and "linkability" in point["attacks"]]
    heights = [point[measure] for point in drawn] + ([raw] if raw is not None else [])
    if not drawn:
        return "<p>No release could be drawn.</p>"
    low, high = _span(heights, 0.0 if measure == "auc" else -math.inf)
    right = min(1.0, 1.15 * max(0.02, *(point["attacks"]["linkability"]["ci"][1] for point in drawn)))

    def x(risk: float) -> float:
        return float(_LEFT + (_WIDTH - _LEFT - _RIGHT) * math.sqrt(min(max(risk, 0.0) / right, 1.0)))

    def y(auc: float) -> float:
        return float(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - auc) / (high - low))

    parts = _axes(x, y, (low, high), right, _MEASURES[measure])
    if raw is not None:
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(raw):.1f}" y2="{y(raw):.1f}" stroke="currentColor" '
            f'stroke-dasharray="6 4"/><text x="{_WIDTH - _RIGHT}" y="{y(raw) - 6:.1f}" text-anchor="end">'
            f"the rows as they are: {raw:.3f}</text>"
        )
    methods = list(dict.fromkeys(point["method"] for point in drawn))
    taken: list[tuple[float, float]] = []
    for number, method in enumerate(methods):
        parts.append(
            _curve([point for point in drawn if point["method"] == method], number, x, lambda point: y(point[measure]))
        )
    places = [(x(point["attacks"]["linkability"]["risk"]), y(point[measure])) for point in drawn]
    for point, (across, up) in zip(drawn, places, strict=True):
        parts.append(_name(_short(point), across, up, places, taken))
    title = f"{len(drawn)} releases by linkability risk and {_MEASURES[measure]}; the table below has the same figures."
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{_text(title)}">{"".join(parts)}</svg>'
        f"{_legend(methods)}"
        '<figcaption class="quiet">Releases of one method are joined; a mark is named by its k or ε where there is '
        "room.</figcaption>"
    )


def _legend(methods: Sequence[str]) -> str:
    """Return the methods with their marks."""
    items = (
        f'<li class="m{at % len(_MARKS)}"><svg viewBox="-8 -8 16 16" aria-hidden="true">{_shape(at, 0, 0)}</svg> '
        f"<span>{_text(name)}</span></li>"
        for at, name in enumerate(methods)
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _axes(x: _Scale, y: _Scale, heights: tuple[float, float], right: float, measure: str) -> list[str]:
    base, parts = _HEIGHT - _BOTTOM, []
    for auc in _ticks(*heights):
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(auc):.1f}" y2="{y(auc):.1f}" stroke="currentColor" '
            f'stroke-opacity=".15"/><text x="{_LEFT - 8}" y="{y(auc) + 4:.1f}" text-anchor="end">{auc:g}</text>'
        )
    for risk in _ticks(0.0, right):
        parts.append(f'<text x="{x(risk):.1f}" y="{base + 18}" text-anchor="middle">{risk:g}</text>')
    parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{base}" y2="{base}" stroke="currentColor"/>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
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
    points: Sequence[Mapping[str, Any]], shape: int, x: _Scale, height: Callable[[Mapping[str, Any]], float]
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
            f'stroke-opacity=".35"/>{_shape(shape, across, up)}</g>'
        )
    return f'<g class="mark m{shape % len(_MARKS)}">{"".join(parts)}</g>'


def _name(
    text: str, across: float, up: float, marks: Sequence[tuple[float, float]], taken: list[tuple[float, float]]
) -> str:
    """Return a mark's name beside it, on the first side where nothing stands; nothing where all sides are taken."""
    width = 7.0 * len(text)
    for left, line in itertools.product((across + 9, across - 9 - width), (up - 7, up + 17)):
        free = all(abs(line - other) > 13 or left + width < beside or left > beside + 50 for beside, other in taken)
        free &= all(abs(line - 4 - other) > 10 or not left - 6 < mark < left + width + 6 for mark, other in marks)
        if free and _LEFT <= left <= _WIDTH - width:
            taken.append((left, line))
            return f'<text class="name" x="{left:.1f}" y="{line:.1f}">{_text(text)}</text>'
    return ""


def _short(point: Mapping[str, Any]) -> str:
    return str(point["setting"] or point["method"])


def _shape(number: int, x: float, y: float) -> str:
    kind = _MARKS[number % len(_MARKS)]
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


def _price(looking: Mapping[str, Any]) -> list[str]:
    if looking["note"] is None:
        return []
    done = (
        "It was charged to the ledger."
        if looking["charged"]
        else "It was not charged: the options charge and dataset book it; public compares on rows that are free to see."
    )
    spent = loss_words(float(looking["epsilon"]))
    return [
        "<h2>Looking has a price</h2>",
        f"<p>{_text(looking['note'])} All points together: epsilon {spent}. {_text(done)}</p>",
    ]


def _table(points: Sequence[Mapping[str, Any]], raw: Mapping[str, Any], measure: str) -> str:
    models = list(dict.fromkeys(name for point in (raw, *points) for name in point["models"]))
    head = [
        "release",
        *(f"{_MEASURES[measure]}, {name}" for name in models),
        *(name.replace("_", " ") for name in _ATTACKS),
    ]
    rows = [["the rows as they are", *_scores(raw, models, measure), *["–"] * len(_ATTACKS)]]
    for point in points:
        if point["refused"] is not None:
            continue
        rows.append(
            [
                point["label"],
                *_scores(point, models, measure),
                *(_risk(point["attacks"].get(name)) for name in _ATTACKS),
            ]
        )
    cells = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    names = "".join(f"<th>{_text(point)}</th>" for point in head)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{cells}</tbody></table>"


def _scores(point: Mapping[str, Any], models: Sequence[str], measure: str) -> list[str]:
    return [_score(point["models"].get(name, {}), measure) for name in models]


def _score(scores: Mapping[str, Any], measure: str) -> str:
    """Return a score; R² with its 95 % interval and the mean absolute error."""
    if measure not in scores:
        return "–"
    if measure == "auc":
        return f"{scores[measure]:.3f}"
    low, high = scores.get("ci", {}).get(measure, (math.nan, math.nan))
    within = "" if math.isnan(low) else f" ({low:.2f}–{high:.2f})"
    return f"{scores[measure]:.3f}{within}, error {scores['mae']:.4g}"


def _risk(attack: Mapping[str, Any] | None) -> str:
    if attack is None or not attack["n_attacks"]:
        return "–"
    return f"{attack['risk']:.3f} ({attack['ci'][0]:.2f}–{attack['ci'][1]:.2f})"


def _refused(points: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        f"<li>{_text(point['label'])}: {_text(point['refused'])}</li>"
        for point in points
        if point["refused"] is not None
    ]
    return ["<h2>No release</h2>", f"<ul>{''.join(lines)}</ul>"] if lines else []


def _text(text: object) -> str:
    return escape(safe_text(str(text)))
