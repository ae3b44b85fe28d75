# SPDX-License-Identifier: Apache-2.0
"""Claims of a paper in a form that an experiment can check, and the verdict: held, not held, or open.

A claim is about differences: of two systems at every point of the grid, of neighbouring values of an axis, or of a
system and a number. Each difference is measured fold by fold and repeat by repeat, and has a simultaneous 95 % interval
(Student's t, Bonferroni over the points of the claim). Parts that take turns in learning and being predicted share
rows, which makes their scores depend on each other: the variance is corrected after Nadeau & Bengio (Machine Learning
52, 2003). A claim is held where no interval leaves room for its contrary, not held where one excludes it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from anonkit.errors import PolicyError, did_you_mean
from anonkit.policy.side_files import expect, optional_text, refuse_unknown, texts
from papers.harness.systems import EXACT, Value

HELD, NOT_HELD, OPEN = "held", "not held", "undecided"
COMPARED = (">=", ">", "<=", "<", "about")
ALONG = ("rises", "falls")
_KEYS = (
    *("says", "measure", "left", "is", "right", "along", "where", "left_where", "right_where", "mean_over"),
    *("tolerance", "answer"),
)
_CONFIDENCE = 0.95
Sample = tuple[int, int]
"""Repeat and fold."""


@dataclass(frozen=True)
class _Value:
    value: float
    overlap: float


_Side: TypeAlias = Mapping[Sample, _Value]
"""Measurements of one side of a comparison, sample by sample."""
_Series: TypeAlias = Sequence[tuple[Value, _Side]]
"""The same for every value of an axis."""


@dataclass(frozen=True, kw_only=True)
class MeasuredConfiguration:
    """One configuration, with what its runs gave."""

    data: str
    system: str
    point: Mapping[str, Value]
    samples: Mapping[Sample, Mapping[str, float]]
    overlap: float = 0.0
    """Rows that are predicted for one that is learned from, where folds take turns; else 0."""
    promise: str = ""
    epsilon: float | None = None
    claimed: float | None = None
    refused: str | None = None

    @property
    def named(self) -> dict[str, Value]:
        """The configuration as columns: data, system, and its axes."""
        return {"data": self.data, "system": self.system, **self.point}

    def values(self, measure: str) -> dict[Sample, float]:
        """Return a measure of every sample that has it."""
        return {sample: scores[measure] for sample, scores in self.samples.items() if measure in scores}


@dataclass(frozen=True, kw_only=True)
class ClaimedDifference:
    """One difference that a claim is about."""

    label: str
    left: float
    right: float
    low: float
    """Ends of the interval of left - right."""
    high: float
    verdict: str

    @property
    def difference(self) -> float:
        """Of the means."""
        return self.left - self.right


@dataclass(frozen=True, kw_only=True)
class ClaimVerdict:
    """The finding on a claim."""

    claim: PaperClaim
    word: str
    points: tuple[ClaimedDifference, ...]

    @property
    def seen(self) -> str:
        """The finding in one line."""
        if not self.points:
            return "no point of this run is about it"
        against = sum(point.verdict == NOT_HELD for point in self.points)
        held = sum(point.verdict == HELD for point in self.points)
        differences = [point.difference for point in self.points]
        if len(differences) == 1:
            side = "as claimed" if held else "against the claim" if against else "within the spread"
            return f"1 difference, {side}: {differences[0]:+.3g}"
        within = len(self.points) - held - against
        return (
            f"{len(self.points)} differences: {held} as claimed, {against} against it, {within} within the spread; "
            f"from {min(differences):+.3g} to {max(differences):+.3g}"
        )


@dataclass(frozen=True, kw_only=True)
class PaperClaim:
    """One sentence of a paper, as a relation between measured means."""

    says: str
    """The paper's claim, with its place."""
    measure: str
    left: str
    """A system."""
    relation: str
    right: str | float | None
    """A system or a number; None where the claim is about one system along an axis."""
    along: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    """Columns (data or an axis) and what of them the claim is about: a value, a list, or `{ from, to }`."""
    left_where: Mapping[str, Any] = field(default_factory=dict)
    right_where: Mapping[str, Any] = field(default_factory=dict)
    mean_over: tuple[str, ...] = ()
    """Axes over which means are taken before they are compared."""
    tolerance: float = 0.0
    answer: str = ""
    """Remark on the claim whatever is measured, such as that it compares unequal losses."""

    @classmethod
    def from_dict(cls, raw: object, where: str) -> PaperClaim:
        """Read a claim of a recipe.

        Raises
        ------
        PolicyError
            A key is not known, of the wrong kind, or missing.
        """
        spec: Mapping[str, Any] = expect(where, "claim", raw, dict)
        refuse_unknown(where, spec, _KEYS)
        for key in ("says", "measure", "left", "is"):
            if optional_text(where, key, spec) is None:
                raise PolicyError(f"{where} needs {key}", _EXAMPLE)
        relation, right = spec["is"], spec.get("right")
        if relation not in (*COMPARED, *ALONG):
            raise PolicyError(f"{where}: a claim cannot be {relation!r}", f"known: {', '.join((*COMPARED, *ALONG))}")
        if relation in ALONG and (right is not None or not isinstance(spec.get("along"), str)):
            raise PolicyError(f"{where}: {relation} needs along, and no right side", 'along = "k"')
        if relation in COMPARED and (isinstance(right, bool) or not isinstance(right, str | int | float)):
            raise PolicyError(f"{where}: right must be a system or a number", _EXAMPLE)
        if relation == "about" and not isinstance(right, int | float):
            raise PolicyError(f"{where}: about needs a number on the right, and a tolerance", "right = 0.86")
        tolerance = spec.get("tolerance", 0.0)
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or tolerance < 0:
            raise PolicyError(f"{where}: tolerance must be a number from 0 on", "tolerance = 0.01")
        return cls(
            says=spec["says"],
            measure=spec["measure"],
            left=spec["left"],
            relation=relation,
            right=float(right) if isinstance(right, int | float) else right,
            along=optional_text(where, "along", spec),
            mean_over=tuple(texts(where, "mean_over", spec.get("mean_over", []))),
            tolerance=float(tolerance),
            answer=optional_text(where, "answer", spec) or "",
            **{key: expect(where, key, spec.get(key, {}), dict) for key in ("where", "left_where", "right_where")},
        )

    def refuse_unknown_names(
        self, systems: Collection[str], columns: Collection[str], measures: Collection[str], where: str
    ) -> None:
        """Refuse systems, columns and measures that the experiment does not have.

        Raises
        ------
        PolicyError
        """
        for name in (self.left, *([self.right] if isinstance(self.right, str) else [])):
            if name not in systems:
                raise PolicyError(f"{where}: there is no system {name!r}", did_you_mean(name, systems))
        if self.measure == "epsilon":
            raise PolicyError(
                f"{where}: epsilon is no measurement, it follows from the package's own accountant",
                "the page has the claimed and the true epsilon of every system",
            )
        if self.measure not in measures:
            raise PolicyError(f"{where}: {self.measure!r} is not measured", did_you_mean(self.measure, measures))
        along = [self.along] if self.along else []
        named = (*self.where, *self.left_where, *self.right_where, *self.mean_over, *along)
        for name in named:
            if name not in columns:
                raise PolicyError(f"{where}: there is no axis {name!r}", did_you_mean(name, columns))

    def judged(self, measured: Sequence[MeasuredConfiguration]) -> ClaimVerdict:
        """Compare what was measured with what is claimed."""
        left = [one for one in measured if one.system == self.left and chosen(one, self.where, self.left_where)]
        if self.relation in ALONG:
            return self._along(list(self._steps(left)))
        right = [one for one in measured if one.system == self.right and chosen(one, self.where, self.right_where)]
        sides = list(self._pairs(left, right) if isinstance(self.right, str) else self._sides(left))
        found = [self._point(label, ours, theirs, len(sides)) for label, ours, theirs in sides]
        points = tuple(point for point in found if point is not None)
        return ClaimVerdict(claim=self, word=_worst([point.verdict for point in points]), points=points)

    def _sides(self, left: Sequence[MeasuredConfiguration]) -> Iterable[tuple[str, _Side, _Side]]:
        """Yield the left side at every point; the right one is a number."""
        for key, members in _groups(left, {*self.mean_over, *self.left_where}).items():
            yield _label(key), _mean(members, self.measure), {}

    def _pairs(
        self, left: Sequence[MeasuredConfiguration], right: Sequence[MeasuredConfiguration]
    ) -> Iterable[tuple[str, _Side, _Side]]:
        """Yield both sides at every point; a system that does not vary along an axis is the same all along it.

        Means over an axis are of the values that both sides have there: of different grids their difference would be
        that of the grids.
        """
        apart = {*self.left_where, *self.right_where}
        hidden = {*self.mean_over, *apart}
        of_left, of_right = _groups(left, hidden), _groups(right, hidden)
        for key_left, ours in of_left.items():
            for key_right, theirs in of_right.items():
                if all(dict(key_right).get(axis, value) == value for axis, value in key_left):
                    key = max(key_left, key_right, key=len)
                    left_side, right_side = _on_one_grid(
                        ours, theirs, [axis for axis in self.mean_over if axis not in apart]
                    )
                    yield _label(key), _mean(left_side, self.measure), _mean(right_side, self.measure)

    def _steps(self, left: Sequence[MeasuredConfiguration]) -> Iterable[tuple[str, _Series]]:
        """Yield what is measured along the axis, for every value of the others."""
        along = str(self.along)
        for key, members in _groups(left, {along, *self.mean_over, *self.left_where}).items():
            values = sorted({one.point[along] for one in members if along in one.point})
            of_value = {value: [one for one in members if one.point.get(along) == value] for value in values}
            yield _label(key), [(value, _mean(ones, self.measure)) for value, ones in of_value.items()]

    def _along(self, series: Sequence[tuple[str, _Series]]) -> ClaimVerdict:
        """Judge a claim along an axis: every step, and the whole way."""
        sign = 1 if self.relation == "rises" else -1
        number = sum(len(values) for _, values in series)  # the steps, and the whole way
        points, words = [], []
        for label, values in series:
            if len(values) < 2:
                continue
            steps = [
                (f"{label}{', ' if label else ''}{self.along} {before} to {after}", high, low)
                for (before, low), (after, high) in pairwise(values)
            ]
            found = [point for step in steps if (point := self._point(*step, number, sign=sign)) is not None]
            ends = f"{label}{', ' if label else ''}{self.along} {values[0][0]} to {values[-1][0]}, the whole way"
            whole = self._point(ends, values[-1][1], values[0][1], number, sign=sign, strict=True)
            points += [*found, *([] if whole is None else [whole])]
            if whole is None or any(point.verdict == NOT_HELD for point in (*found, whole)):
                words.append(OPEN if whole is None else NOT_HELD)
            else:
                steady = all(sign * point.difference >= -self.tolerance for point in found)
                words.append(HELD if steady and whole.verdict == HELD else OPEN)
        return ClaimVerdict(claim=self, word=_worst(words), points=tuple(points))

    def _point(
        self,
        label: str,
        left: _Side,
        right: _Side,
        number: int,
        *,
        sign: int = 1,
        strict: bool | None = None,
    ) -> ClaimedDifference | None:
        """Return one difference with its verdict; None where a side has no sample."""
        constant = isinstance(self.right, float)
        common = [sample for sample in left if constant or sample in right]
        if not common:
            return None
        ours = np.array([left[sample].value for sample in common])
        theirs = np.full(ours.size, self.right) if constant else np.array([right[s].value for s in common])
        overlap = left[common[0]].overlap
        low, high = interval(ours - theirs, overlap, number, exact=self.measure in EXACT)
        relation = self.relation
        if relation in ALONG:
            relation = {(1, True): ">", (-1, True): "<"}.get((sign, bool(strict)), ">=" if sign == 1 else "<=")
        return ClaimedDifference(
            label=label,
            left=float(ours.mean()),
            right=float(theirs.mean()),
            low=low,
            high=high,
            verdict=_verdict(relation, low, high, 0.0 if strict else self.tolerance),
        )


def interval(differences: np.ndarray[Any, Any], overlap: float, number: int, *, exact: bool) -> tuple[float, float]:
    """Return the ends of the interval of a mean difference.

    Parameters
    ----------
    differences : array, shape (n,)
        One a repeat and fold.
    overlap : float
        Rows that are predicted for one that is learned from, where folds take turns; else 0.
    number : int
        Intervals that shall all hold at once.
    exact : bool
        Whether the measure follows from parameters alone, so that one run gives it.
    """
    mean = float(differences.mean())
    if exact:
        return mean, mean
    n = differences.size
    if n < 2:
        return -math.inf, math.inf
    from scipy.stats import t

    error = float(differences.std(ddof=1)) * math.sqrt(1 / n + overlap)
    half = float(t.ppf(1 - (1 - _CONFIDENCE) / (2 * max(number, 1)), n - 1)) * error
    return mean - half, mean + half


def chosen(one: MeasuredConfiguration, *conditions: Mapping[str, Any]) -> bool:
    """Return whether a configuration is among those that conditions choose; an axis it does not have chooses it."""
    named = one.named
    return all(
        name not in named or fits(named[name], wanted) for condition in conditions for name, wanted in condition.items()
    )


def fits(value: Value, wanted: object) -> bool:
    """Return whether a value is the one that is wanted, one of a list, or from one to another."""
    if isinstance(wanted, Mapping):
        low, high = wanted.get("from", -math.inf), wanted.get("to", math.inf)
        return not isinstance(value, str) and bool(low <= value <= high)
    return value in wanted if isinstance(wanted, list) else value == wanted


def _groups(
    ones: Iterable[MeasuredConfiguration], hidden: Collection[str]
) -> dict[tuple[tuple[str, Value], ...], list[MeasuredConfiguration]]:
    """Return the configurations that differ in hidden axes alone, by what they have in common."""
    groups: dict[tuple[tuple[str, Value], ...], list[MeasuredConfiguration]] = {}
    for one in ones:
        key = tuple((name, value) for name, value in one.named.items() if name != "system" and name not in hidden)
        groups.setdefault(key, []).append(one)
    return groups


def _on_one_grid(
    left: Sequence[MeasuredConfiguration], right: Sequence[MeasuredConfiguration], axes: Sequence[str]
) -> tuple[list[MeasuredConfiguration], list[MeasuredConfiguration]]:
    """Return the configurations of both sides at values of the axes that both have; an axis of one side is left."""
    shared = [axis for axis in axes if all(axis in one.named for one in (*left, *right))]
    places = [{tuple(one.named[axis] for axis in shared) for one in side} for side in (left, right)]
    common = places[0] & places[1]
    kept = [[one for one in side if tuple(one.named[axis] for axis in shared) in common] for side in (left, right)]
    return kept[0], kept[1]


def _mean(members: Sequence[MeasuredConfiguration], measure: str) -> _Side:
    """Return the mean over configurations, sample by sample, of the samples that all of them have."""
    values = [one.values(measure) for one in members]
    common = [sample for sample in values[0] if all(sample in other for other in values)] if values else []
    return {sample: _Value(float(np.mean([one[sample] for one in values])), members[0].overlap) for sample in common}


def _label(key: Iterable[tuple[str, Value]]) -> str:
    return ", ".join(str(value) if name == "data" else f"{name} {value}" for name, value in key)


def _verdict(relation: str, low: float, high: float, tolerance: float) -> str:
    """Return the verdict of an interval of left - right on a relation."""
    if relation == "about":
        if -tolerance <= low and high <= tolerance:
            return HELD
        return NOT_HELD if low > tolerance or high < -tolerance else OPEN
    if relation in ("<=", "<"):
        low, high = -high, -low
    low, high = low + tolerance, high + tolerance
    if relation in (">", "<"):
        return HELD if low > 0 else NOT_HELD if high <= 0 else OPEN
    return HELD if low >= 0 else NOT_HELD if high < 0 else OPEN


def _worst(words: Sequence[str]) -> str:
    if not words:
        return OPEN
    return NOT_HELD if NOT_HELD in words else OPEN if OPEN in words else HELD


_EXAMPLE = 'says = "…", measure = "auc", left = "rfka", is = ">=", right = "greedy-hamdist"'
