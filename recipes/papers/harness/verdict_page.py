# SPDX-License-Identifier: Apache-2.0
"""The verdict of an experiment, as Markdown and as a page: what is claimed, what was seen, what it really costs."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from anonkit.report.charts import safe_text
from papers.harness.claims import ClaimVerdict, MeasuredConfiguration
from papers.harness.experiment_recipe import Experiment

_MARKS = {"held": "✓", "not held": "✗", "undecided": "?"}
_CLASSES = {"held": "yes", "not held": "no", "undecided": "open"}
_HOW = (
    "Held: every difference, with its simultaneous 95 % interval, is on the claimed side. Not held: one is surely on "
    "the other side. Undecided: the spread over repeats and folds leaves room for both. What rises or falls: held "
    "where no step goes the other way in the mean and the whole way surely does not; steps alone are seldom sure."
)
_SEEDED = (
    "Releases were seeded, which marks them as not for release, made in memory, and thrown away when they were scored."
)
_NO_LOSS = "–"
_LAST_BITS = 1e-12
"""A deviation below this part of the mean is that of floats, not of runs."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fdfdfb; --line: #c8ccd0; --quiet: #59636e;
  --yes: #1d6b32; --no: #a5281b; --open: #7a5b00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaec; --paper: #15181b; --line: #3d444b; --quiet: #a3acb5;
    --yes: #7fd39b; --no: #ff9f8f; --open: #e0c35a; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
main { max-width: 1000px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
p { max-width: 72ch; margin: .4rem 0; }
.quiet { color: var(--quiet); }
.claim { border-left: 4px solid var(--line); padding: .1rem 0 .1rem .9rem; margin: 1rem 0; }
.claim strong { margin-right: .6rem; }
.yes { border-color: var(--yes); } .yes strong { color: var(--yes); }
.no { border-color: var(--no); } .no strong { color: var(--no); }
.open { border-color: var(--open); } .open strong { color: var(--open); }
figure { margin: .6rem 0; background: #fff; border: 1px solid var(--line); padding: 8px; }
figure img { width: 100%; height: auto; display: block; }
details { margin: .4rem 0; } summary { cursor: pointer; color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; }
th, td { text-align: right; padding: .3rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.words { white-space: normal; text-align: left; min-width: 18rem; }
thead th { font-weight: 600; vertical-align: bottom; }
@media print { body { background: #fff; color: #000; } }
"""


def verdict_markdown(
    experiment: Experiment,
    measured: Sequence[MeasuredConfiguration],
    verdicts: Sequence[ClaimVerdict],
    *,
    plotted: bool,
) -> str:
    """Return the verdict as Markdown."""
    lines = [f"# {experiment.title}", "", experiment.paper, "", *_form(experiment)]
    lines += ["", _about(experiment)] if experiment.about else []
    if plotted:
        lines += ["", f"![{experiment.title}]({experiment.name}.svg)"]
    if verdicts:
        lines += ["", "## What the paper claims, and what was seen", "", _HOW, ""]
        lines += ["| claim | verdict | seen |", "| --- | --- | --- |"]
        lines += [f"| {_cell(one.claim.says)} | **{one.word}** | {_cell(_seen(one))} |" for one in verdicts]
    lines += ["", "## What sound accounting says", "", "| system | promise | claimed ε | true ε | |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in _accounts(experiment, measured)]
    lines += ["", "## All figures", ""]
    head, rows = _figures(experiment, measured)
    lines += [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([*lines, "", _SEEDED, ""])


def verdict_page(
    experiment: Experiment,
    measured: Sequence[MeasuredConfiguration],
    verdicts: Sequence[ClaimVerdict],
    drawing: str | None,
) -> str:
    """Return the verdict as one HTML page without scripts or outside references."""
    body = [f"<h1>{_text(experiment.title)}</h1>", f'<p class="quiet">{_text(experiment.paper)}</p>']
    body += [f'<p class="quiet">{_text(line)}</p>' for line in _form(experiment) if line]
    body += [f"<p>{_text(part)}</p>" for part in _about(experiment).split("\n\n") if part]
    if drawing is not None:
        image = b64encode(drawing.encode()).decode()
        alt = _text(f"{experiment.title}: the table below holds the same figures")
        body.append(f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{image}"></figure>')
    if verdicts:
        body += ["<h2>What the paper claims, and what was seen</h2>", f'<p class="quiet">{_text(_HOW)}</p>']
        body += [part for one in verdicts for part in _claim(one)]
    body += ["<h2>What sound accounting says</h2>"]
    body.append(_html_table(["system", "promise", "claimed ε", "true ε", ""], _accounts(experiment, measured), words=4))
    body += ["<h2>All figures</h2>", _html_table(*_figures(experiment, measured))]
    body.append(f'<p class="quiet">{_text(_SEEDED)}</p>')
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(experiment.title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _about(experiment: Experiment) -> str:
    """Return the recipe's words; they are about the whole experiment."""
    whole = "Of the whole experiment, not of this quick form: " if experiment.quick and experiment.about else ""
    return whole + experiment.about.strip()


def _form(experiment: Experiment) -> list[str]:
    """Return what ran: repeats, rows, values of the axes, systems, and the public tables."""
    repeats = f"{experiment.repeats} repeat{'s' if experiment.repeats > 1 else ''}, seed {experiment.seed}."
    quick = " The quick form: fewer rows, repeats or points than the experiment has; no verdict on the paper."
    tables = "; ".join(f"{spec.title}: {spec.used}" for spec in experiment.data.values())
    values = {axis: sorted({one.point[axis] for one in experiment.configurations if axis in one.point}, key=_order)
              for axis in experiment.axes}  # fmt: skip
    axes = "; ".join(f"{axis} {', '.join(map(str, found))}" for axis, found in values.items() if found)
    ran = f"Ran here: {tables}. {f'{axes}. ' if axes else ''}{len(experiment.systems)} systems."
    public = dict.fromkeys(name for spec in experiment.data.values() for name in spec.documented)
    described = [f"Public tables: {'; '.join(public)}."] if public else []
    return [f"{repeats}{quick if experiment.quick else ''}", "", ran, *(("", *described) if described else ())]


def _order(value: object) -> tuple[bool, object]:
    """Numbers by size, before words."""
    return isinstance(value, str), value


def _seen(one: ClaimVerdict) -> str:
    return f"{one.seen}. {one.claim.answer}".strip() if one.claim.answer else f"{one.seen}."


def _claim(one: ClaimVerdict) -> Iterator[str]:
    yield f'<div class="claim {_CLASSES[one.word]}"><p>{_text(one.claim.says)}</p>'
    yield f"<p><strong>{_MARKS[one.word]} {one.word}</strong> {_text(_seen(one))}</p>"
    if one.points:
        rows = [
            [
                point.label or "overall",
                _figure(point.left),
                _figure(point.right),
                f"{point.difference:+.4g}",
                _ends(point.low, point.high),
                point.verdict,
            ]
            for point in one.points
        ]
        table = _html_table(["at", one.claim.left, _right(one), "difference", "interval", ""], rows)
        yield f"<details><summary>Every difference in {_text(one.claim.measure)}</summary>{table}</details>"
    yield "</div>"


def _right(one: ClaimVerdict) -> str:
    right = one.claim.right
    return "before" if right is None else right if isinstance(right, str) else "the paper"


def _accounts(experiment: Experiment, measured: Sequence[MeasuredConfiguration]) -> list[list[str]]:
    """Return one row a system: promise, claimed loss, true loss, and a remark."""
    rows = []
    for name, system in experiment.systems.items():
        ours = [one for one in measured if one.system == name]
        if not ours:
            continue
        promises = ", ".join(dict.fromkeys(one.promise for one in ours))
        refused = next((f"no release: {one.refused}. " for one in ours if one.refused is not None), "")
        rows.append(
            [system.title, promises, _range([one.claimed for one in ours]), _true(ours),
             f"{refused}{system.note}".strip()]
        )  # fmt: skip
    return rows


def _true(ours: Sequence[MeasuredConfiguration]) -> str:
    """Return what the releases of a system cost; without a promise there is no bound."""
    unbounded = all(one.promise == "none" and one.epsilon is None for one in ours)
    return "no bound" if unbounded else _range([one.epsilon for one in ours])


def _range(losses: Sequence[float | None]) -> str:
    known = sorted({loss for loss in losses if loss is not None})
    if not known:
        return _NO_LOSS
    low, high = _loss(known[0]), _loss(known[-1])
    return low if low == high else f"{low} to {high}"


def _loss(loss: float) -> str:
    return "∞" if math.isinf(loss) else f"{loss:.4g}"


def _figures(experiment: Experiment, measured: Sequence[MeasuredConfiguration]) -> tuple[list[str], list[list[str]]]:
    """Return the table of all configurations: mean ± standard deviation of every measure."""
    measures = [name for name in experiment.measures if name != "epsilon" and any(one.values(name) for one in measured)]
    head = ["data", "system", *experiment.axes, *(name.replace("_", " ") for name in measures), "true ε", "n"]
    rows = []
    for one in measured:
        cells = [_spread(list(one.values(measure).values())) for measure in measures]
        axes = [str(one.point.get(axis, "–")) for axis in experiment.axes]
        loss = "–" if one.epsilon is None else _loss(one.epsilon)
        titles = experiment.data[one.data].title, experiment.systems[one.system].title
        rows.append([*titles, *axes, *cells, loss, str(len(one.samples))])
    return head, rows


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    mean = _figure(float(np.mean(values)))
    if len(values) < 2 or not np.isfinite(values).all() or np.std(values) <= _LAST_BITS * abs(np.mean(values)):
        return mean
    return f"{mean} ± {float(np.std(values, ddof=1)):.2g}"


def _figure(value: float) -> str:
    if not math.isfinite(value):
        return "∞"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.4g}"


def _ends(low: float, high: float) -> str:
    return "–" if math.isinf(low) else f"{low:+.3g} to {high:+.3g}"


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int | None = None) -> str:
    names = "".join(f"<th>{_text(name)}</th>" for name in head)
    lines = "".join(
        "<tr>"
        + "".join(f"<td{' class=words' if at == words else ''}>{_text(cell)}</td>" for at, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table></div>'


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _text(text: object) -> str:
    return escape(safe_text(str(text)))
