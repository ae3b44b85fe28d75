# SPDX-License-Identifier: Apache-2.0
"""The comparison of methods as one self-contained page: measured risk against model utility, with its table.

Advice of a comparison, one sentence a kind of promise: the strongest protection that still serves models.

Protection of one kind is ordered: a larger k, a smaller epsilon. Of the releases whose best model is certainly no more
than `MARGIN` below the best of all, the strongest is advised. Among methods at that strength the best model counts,
then the fewest columns lost, then the smallest change of a column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from anonkit.comparing.frontier_plot import (
    HEIGHT,
    MARKS,
    MEASURES,
    WIDTH,
    FrontierFigure,
    drawable,
    measure_of,
    plot,
    shape,
    title_of,
)
from anonkit.comparing.model_scores import MEASURE, FrontierPoint
from anonkit.policy.target_task import Task
from anonkit.promises.noise_promises import loss_words
from anonkit.report.charts import safe_text
from anonkit.report.document import OWNER_BANNER
from anonkit.report.wording import number, percent

if TYPE_CHECKING:
    from anonkit.comparing.comparison import Comparison


MARGIN = 0.02
"""Loss of AUC or R² against the best release of its kind that a stronger protection may cost: a convention.

How often the advice keeps it: docs/how-to/compare-methods.md, `python recipes/benchmarks/compare_advice.py`."""
_LONGEST_NAME = 13
"""Characters of a column's name in a cell of a table."""
_SHOWN = 3
"""Lost columns that a sentence names."""


def advice(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the advised release of each kind of promise, in the order in which the kinds were compared.

    Returns
    -------
    list of dict
        `label` of the release, `promise`, `useful` (False where no model beats guessing for certain), `score`, `ci`,
        `best` (label of the best release of the kind), `less` (what the advised one has less; None where it is the
        best) with its 95 % interval `less_ci`, `columns_lost`, `largest_change` (as `moved_columns`, or None) and
        `sentence`. Empty where no release could be measured.

    Privacy
    -------
    Computed from the source: for its owner.
    """
    return list(_advised(comparison))


def _advised(comparison: Comparison) -> Iterator[dict[str, Any]]:
    measured = [point for point in comparison.points if point.by_row is not None]
    for kind in dict.fromkeys(point.protection for point in measured if point.protection is not None):
        points = [point for point in measured if point.protection == kind]
        best = max(points, key=lambda point: point.by_row.value)  # type: ignore[union-attr]
        served = [point for point in points if _is_close(point, best)]
        strongest = max(_strength(point) for point in served)
        chosen = _simplest([point for point in served if _strength(point) == strongest])
        yield _block(comparison, kind, chosen, best)


def _is_close(point: FrontierPoint, best: FrontierPoint) -> bool:
    """Return True if a release is certainly no more than the margin below the best one."""
    if point is best:
        return True
    less = _less(best, point)
    return less is not None and less[1][1] <= MARGIN


def _less(best: FrontierPoint, point: FrontierPoint) -> tuple[float, tuple[float, float]] | None:
    """Return the shortfall of a release against the best one, and its interval."""
    if best.by_row is None or point.by_row is None:
        return None
    return best.by_row.less(point.by_row)


def _strength(point: FrontierPoint) -> float:
    """Return an order of protection within one kind of promise: more protects better."""
    if point.parameter == "k" and point.value is not None:
        return point.value
    loss = point.guarantee.get("parameters", {}).get("epsilon")
    return -float(loss) if loss is not None else 0.0


def _simplest(points: Sequence[FrontierPoint]) -> FrontierPoint:
    """Return the release with the best model; of those indistinguishable from it the one that changes least."""
    best = max(points, key=lambda point: point.by_row.value)  # type: ignore[union-attr]
    alike = [point for point in points if point is best or _is_no_worse(point, best)]
    return min(alike, key=lambda point: (len(point.lost), _largest(point), point is not best))


def _is_no_worse(point: FrontierPoint, best: FrontierPoint) -> bool:
    less = _less(best, point)
    return less is not None and less[1][0] <= 0


def most_changed(point: FrontierPoint) -> str:
    """Return the column of a release whose distribution moved most, with how far, for a cell of a table."""
    move = _largest_change(point)
    if move is None:
        return "–"
    name = str(move["name"])
    name = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    far = percent(move["value"]) if move["measure"] == "share of the rows" else f"{move['value']:.2g} sd"
    return f"{name} {far}"


def _largest_change(point: FrontierPoint) -> Mapping[str, Any] | None:
    shares = [move for move in point.moved if move["measure"] == "share of the rows"]
    return max(shares or point.moved, key=lambda move: float(move["value"]), default=None)


def _largest(point: FrontierPoint) -> float:
    """Return the largest share of rows of a column that would have to change."""
    return max((move["value"] for move in point.moved if move["measure"] == "share of the rows"), default=0.0)


def _block(comparison: Comparison, kind: str, chosen: FrontierPoint, best: FrontierPoint) -> dict[str, Any]:
    assert chosen.by_row is not None  # noqa: S101 - only measured releases are chosen
    guessing = 0.5 if comparison.task is Task.CLASSIFICATION else 0.0
    ends = chosen.by_row.interval
    less = None if chosen is best else _less(best, chosen)
    block: dict[str, Any] = {
        "label": chosen.label,
        "promise": kind,
        "useful": ends[0] > guessing,
        "score": round(chosen.by_row.value, 4),
        "ci": [round(end, 4) for end in ends],
        "best": best.label,
        "less": None if less is None else round(less[0], 4),
        "less_ci": None if less is None else [round(end, 4) for end in less[1]],
        "columns_lost": list(chosen.lost),
        "largest_change": _largest_change(chosen),
    }
    return {**block, "sentence": _sentence(comparison, block, guessing)}


def _sentence(comparison: Comparison, block: dict[str, Any], guessing: float) -> str:
    measure = MEASURE[comparison.task]
    name = {"auc": "AUC", "r2": "R²"}[measure]
    score = f"{name} {block['score']:.3f} ({_ends(block['ci'])})"
    reference = "guessing has 0.5" if guessing else "always the mean has 0"
    if not block["useful"]:
        return (
            f"Under {block['promise']} no release here serves models for certain: the best tried, "
            f"{block['best']}, has {score}, and {reference}."
        )
    raw = max((scores[measure] for scores in comparison.raw.values() if measure in scores), default=None)
    beside = reference if raw is None else f"your rows have {raw:.3f}, {reference}"
    if block["less"] is None:
        why = "no stronger protection here comes near its models"
    else:
        why = f"{max(block['less'], 0):.3f} below {block['best']} (difference {_ends(block['less_ci'])})"
    lost = block["columns_lost"]
    named = ", ".join(lost[:_SHOWN]) + (f" and {number(len(lost) - _SHOWN)} more" if len(lost) > _SHOWN else "")
    loses = f"loses {number(len(lost))} column{'' if len(lost) == 1 else 's'} ({named})" if lost else "loses no column"
    return (
        f"Under {block['promise']} take {block['label']}: {score}; {beside}; {why}; it {loses}"
        f"{_change_words(block['largest_change'])}."
    )


def _change_words(move: Mapping[str, Any] | None) -> str:
    if move is None:
        return ""
    if move["measure"] == "share of the rows":
        return f", and changes {move['name']} most ({percent(move['value'])} of its rows)"
    return f", and changes {move['name']} most ({move['value']:.2g} standard deviations)"


def _ends(ends: Sequence[float]) -> str:
    return f"{ends[0]:.3f} to {ends[1]:.3f}"


_IN_A_NOTEBOOK = (
    ".anonkit-view .banner{background:#a81515;color:#fff;padding:.35em .8em;font-weight:600}"
    ".anonkit-view .wide{overflow-x:auto}"
    ".anonkit-view .wide table{color:inherit;border-collapse:collapse;font-size:.93em}"
    ".anonkit-view .wide table{font-variant-numeric:tabular-nums}"
    ".anonkit-view .wide th,.anonkit-view .wide td{text-align:right;padding:.25em .6em;border:0;"
    "border-bottom:1px solid rgba(128,128,128,.35)}"
    ".anonkit-view .wide td{white-space:nowrap}"
    ".anonkit-view .wide th:first-child,.anonkit-view .wide td:first-child{text-align:left}"
    ".anonkit-view summary{cursor:pointer;font-weight:600}"
)
"""Lines and text in the colours of the notebook, light or dark."""
_ATTACKS = ("singling_out", "linkability", "inference", "membership")

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
    measure = measure_of(comparison)
    raw, name = comparison["raw"][measure], MEASURES[measure]
    body = [
        "<h1>What each release costs, and what it protects</h1>",
        f'<p class="quiet">Target {_text(comparison["target"])}, {comparison["rows"]:,} rows: '
        f"{_text(comparison['protocol'])}.</p>",
        f'<p class="banner">{_text(OWNER_BANNER)}</p>',
        *_advice(comparison),
        *_price(comparison["looking"]),
        "<h2>Linkability against what models keep</h2>",
        f"<p>Up and to the left is better. Across: the share of people whose row is found only because it is there, "
        f"with its 95 % limits. Up: {name} of the best model, on held-out rows: trained on the release as it is, or "
        "reconstructed from it as anonkit reconstruct does, where its parameters are there to undo the noise.</p>",
        f"<figure>{_figure(points, raw, measure)}</figure>",
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


def comparison_fragment(comparison: Mapping[str, Any]) -> str:
    """Return what a notebook shows of a comparison: banner, plot, price, all figures and what was refused.

    Privacy
    -------
    For the owner: it carries the banner that says so, since notebooks are handed on.
    """
    measure = measure_of(comparison)
    body = [
        f"<style>{_IN_A_NOTEBOOK}</style>",
        f'<p class="banner">{_text(OWNER_BANNER)}</p>',
        f"<p>Target {_text(comparison['target'])}, {comparison['rows']:,} rows: {_text(comparison['protocol'])}.</p>",
        *_advice(comparison, "h4"),
        FrontierFigure(document=comparison).inline_svg(),
        *_price(comparison["looking"], "h4"),
        f'<details><summary>All figures</summary><div class="wide">'
        f"{_table(comparison['points'], comparison['raw'], measure)}</div></details>",
        *_refused(comparison["points"], "h4"),
    ]
    return f'<div class="anonkit-view">{"".join(body)}</div>'


def _figure(points: Sequence[Mapping[str, Any]], raw: float | None, measure: str) -> str:
    """Return the plot with its legend and its remarks."""
    plotted = drawable(points, measure)
    if not plotted:
        return "<p>No release could be measured.</p>"
    methods = list(dict.fromkeys(point["method"] for point in plotted))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_text(title_of(plotted, measure))}; the '
        'table below has the same figures.">'
        f"{plot(plotted, raw, measure)}</svg>"
        f"{_legend(methods)}"
        '<figcaption class="quiet">Releases of one method are joined; a mark is named by its k or ε where there is '
        "room.</figcaption>"
    )


def _legend(methods: Sequence[str]) -> str:
    """Return the methods with their marks."""
    items = (
        f'<li class="m{at % len(MARKS)}"><svg viewBox="-8 -8 16 16" aria-hidden="true">{shape(at, 0, 0)}</svg> '
        f"<span>{_text(name)}</span></li>"
        for at, name in enumerate(methods)
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _advice(comparison: Mapping[str, Any], head: str = "h2") -> list[str]:
    """Return the advice of the comparison, and the number of rows that it rests on; nothing where there is none."""
    sentences = [f"<p><strong>{_text(block['sentence'])}</strong></p>" for block in comparison.get("advice", ())]
    rows, of_table = comparison["rows"], comparison.get("table_rows", 0)
    if rows < of_table:
        sentences.append(
            f"<p>Compared on {rows:,} of {of_table:,} rows: your whole table will keep more. Models learn from a "
            "sample of them.</p>"
        )
    return [f"<{head}>Which one</{head}>", *sentences] if sentences else []


def _price(looking: Mapping[str, Any], head: str = "h2") -> list[str]:
    if looking["note"] is None:
        return []
    done = (
        "It was booked in the ledger."
        if looking["charged"]
        else "It was not booked: the options charge and dataset book it; public compares on rows that are free to see."
    )
    spent = loss_words(float(looking["epsilon"]))
    return [
        f"<{head}>Looking has a price</{head}>",
        f"<p>{_text(looking['note'])} All points together: epsilon {spent}. {_text(done)}</p>",
    ]


def _table(points: Sequence[Mapping[str, Any]], raw: Mapping[str, Any], measure: str) -> str:
    models = list(dict.fromkeys(name for point in (raw, *points) for name in point["models"]))
    head = [
        "release",
        *(f"{MEASURES[measure]}, {name}" for name in models),
        "columns lost",
        "changed most",
        *(name.replace("_", " ") for name in _ATTACKS),
        "alone, clear columns known",
        "below k then",
    ]
    rows = [["the rows as they are", *_scores(raw, models, measure), *["–"] * (len(_ATTACKS) + 4)]]
    for point in points:
        if point["refused"] is not None:
            continue
        rows.append(
            [
                point["label"],
                *_scores(point, models, measure),
                *_column_changes(point),
                *(_risk(point["attacks"].get(name)) for name in _ATTACKS),
                *_alone(point.get("with_clear_columns")),
            ]
        )
    cells = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    names = "".join(f"<th>{_text(point)}</th>" for point in head)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{cells}</tbody></table>"


def _column_changes(point: Mapping[str, Any]) -> list[str]:
    """Return the number of lost columns, and those of the others that moved most."""
    moves = point.get("columns_changed", ())
    shares = [move for move in moves if move["measure"] == "share of the rows"]
    most = max(shares or moves, key=lambda move: float(move["value"]), default=None)
    if most is None:
        return [str(len(point.get("columns_lost", ()))), "–"]
    far = percent(most["value"]) if most["measure"] == "share of the rows" else f"{most['value']:.2g} sd"
    return [str(len(point.get("columns_lost", ()))), f"{most['name']} {far}"]


def _scores(point: Mapping[str, Any], models: Sequence[str], measure: str) -> list[str]:
    return [_score(point["models"].get(name, {}), measure) for name in models]


def _score(scores: Mapping[str, Any], measure: str) -> str:
    """Return a score; R² with its 95 % interval and the mean absolute error."""
    if measure not in scores:
        return "–"
    if measure == "auc":
        ends = scores.get("ci", {}).get("auc")
        return f"{scores[measure]:.3f}" + ("" if ends is None else f" ({ends[0]:.3f}–{ends[1]:.3f})")
    low, high = scores.get("ci", {}).get(measure, (math.nan, math.nan))
    within = "" if math.isnan(low) else f" ({low:.2f}–{high:.2f})"
    return f"{scores[measure]:.3f}{within}, error {scores['mae']:.4g}"


def _risk(attack: Mapping[str, Any] | None) -> str:
    if attack is None or not attack["n_attacks"]:
        return "–"
    return f"{attack['risk']:.3f} ({attack['ci'][0]:.2f}–{attack['ci'][1]:.2f})"


def _alone(clear: Mapping[str, Any] | None) -> list[str]:
    """Return the shares of rows alone and below k were target and insensitive columns known too."""
    return ["–", "–"] if clear is None else [percent(clear["share_alone"]), percent(clear["share_below_k"])]


def _refused(points: Sequence[Mapping[str, Any]], head: str = "h2") -> list[str]:
    lines = [
        f"<li>{_text(point['label'])}: {_text(point['refused'])}</li>"
        for point in points
        if point["refused"] is not None
    ]
    return [f"<{head}>No release</{head}>", f"<ul>{''.join(lines)}</ul>"] if lines else []


def _text(text: object) -> str:
    return escape(safe_text(str(text)))
