# SPDX-License-Identifier: Apache-2.0
"""A shaded matrix of all pairs of columns as inline SVG text: below the diagonal one table, above it the other.

As the [bar charts][anonkit.report.charts] it needs no script, takes its colour from the text around it, and shows its
figures by darkness alone. Labels are untrusted text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anonkit.report.charts import shortened, svg_text

_CELL = 22
"""Width and height of a cell, in pixels."""
_LABEL = 24
"""Columns of a label that are shown."""
_LETTER = 7.2
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
    left = 34 + _LETTER * max((min(len(label), _LABEL) for label in labels), default=0)
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
            told = f"{labels[pair[0]]} and {labels[pair[1]]}: {value:.3f}"
            body.append(_square(x, y, value / most if most else 0.0, svg_text(told)))
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


def _square(x: float, y: float, share: float, told: str) -> str:
    return (
        f'<g class="bars"><rect x="{x:g}" y="{y:g}" width="{_CELL}" height="{_CELL}" fill="currentColor" '
        f'fill-opacity="{share:.2f}" stroke="currentColor" stroke-opacity=".25"><title>{told}</title></rect></g>'
    )
