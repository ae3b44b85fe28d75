# SPDX-License-Identifier: Apache-2.0
"""Advice of a comparison, one sentence a kind of promise: the strongest protection that still serves models.

Protection of one kind is ordered: a larger k, a smaller epsilon. Of the releases whose best model is certainly no more
than `MARGIN` below the best of all, the strongest is advised. Among methods at that strength the best model counts,
then the fewest columns lost, then the smallest change of a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anonkit.comparing.frontier_points import FrontierPoint
from anonkit.comparing.model_scores import MEASURE
from anonkit.policy.target_task import Task
from anonkit.report.wording import number, percent

if TYPE_CHECKING:
    from anonkit.comparing.comparison import Comparison

MARGIN = 0.02
"""Loss of AUC or R² against the best release of its kind that a stronger protection may cost."""
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
    """Return what a release has less than the best one, and the interval of that."""
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
