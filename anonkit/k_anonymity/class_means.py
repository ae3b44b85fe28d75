# SPDX-License-Identifier: Apache-2.0
"""Means of generalized numbers in a k-anonymous release: each row shows that of its equivalence class.

A mean is rounded to a public grid, and withheld where it would disclose the number of one person: the middle of the
interval is shown then, or nothing where it has an open end. The rules are those of magnitude tables (Hundepool et al.:
Statistical Disclosure Control, Wiley 2012, section 4.2), applied to what each person adds to the sum of a class.

The distances of the shown numbers from the original ones are for the owner: IL1s, eigenvalues and correlations, as
statistics offices name them. IL1s and the distance of eigenvalues are those of sdcMicro's `dUtility` (Mateo-Sanz,
Domingo-Ferrer, Sebé: Probabilistic information loss measures, Data Mining and Knowledge Discovery 11, 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray, combine
from anonkit.protocols import COUNT, Engine, Source, is_too_large


def number_distances(original: FloatArray, shown: FloatArray, rows: FloatArray) -> dict[str, Any]:
    """Return the distances of shown numbers from the original ones, row by row.

    Parameters
    ----------
    original, shown : float array, shape (n_entries, n_columns)
        Finite, in the same order. Columns of one value are left out of all that divides by their spread.
    rows : float array, shape (n_entries,)
        Rows of each entry, above 0.

    Returns
    -------
    dict
        `columns`, the number that vary; `il1s`, the sum over rows and columns of |x − x′| / (√2 s), s the standard
        deviation of the original column; `il1s_per_cell`, its mean; with two columns at least `eigenvalues`, the sum of
        |λ − λ′| / λ over those of the correlation matrices that are above 0, both in falling order; `correlations`, the
        mean of |r − r′| over pairs of columns, where a shown column of one value has correlation 0.

    Privacy
    -------
    Figures of the source: for the owner alone.
    """
    n_rows = float(rows.sum())
    spread = np.sqrt((rows @ (original - rows @ original / n_rows) ** 2) / max(n_rows - 1, 1))
    varies = spread > 0
    n_columns = int(varies.sum())
    if not n_columns:
        return {"columns": 0}
    original, shown, spread = original[:, varies], shown[:, varies], spread[varies]
    lost = float((rows @ np.abs(original - shown) / (np.sqrt(2) * spread)).sum())
    found = {"columns": n_columns, "il1s": lost, "il1s_per_cell": lost / (n_rows * n_columns)}
    if n_columns > 1:
        before, after = _correlations(original, rows), _correlations(shown, rows)
        roots, others = (np.sort(np.linalg.eigvalsh(matrix))[::-1] for matrix in (before, after))
        some = roots > np.finfo(np.float64).eps * n_columns
        pairs = np.triu_indices(n_columns, 1)
        found["eigenvalues"] = float((np.abs(roots - others)[some] / roots[some]).sum())
        found["correlations"] = float(np.abs(before - after)[pairs].mean())
    return found


def _correlations(values: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the matrix of correlations; 0 with a column of one value, shape (n_columns, n_columns)."""
    centred = values - rows @ values / rows.sum()
    products = (centred * rows[:, None]).T @ centred
    spread = np.sqrt(np.diag(products))
    scale = np.where(spread > 0, spread, 1.0)
    matrix = products / np.outer(scale, scale)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(matrix, np.float64)


P_PERCENT = 10
"""Least share of the largest contribution, in per cent, that all but the two largest have to make up."""
DOMINANCE = 80
"""Largest share of a sum, in per cent, that one contribution may be."""
NEAR_END = 0.1
"""Part of its interval within which the mean must not show every number of a class to lie."""
_DIGITS = 2
_SQUARES = 1e150
"""Numbers whose squares are doubles: those of rows with larger ones are not measured."""

KEY = "means"
"""Block of the params."""

Beside = Callable[[Sequence[tuple[str, str]]], Source]
"""Given pairs of a quasi-identifier and a free name: the released rows, with its original cells under that name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassMeans:
    """The means that the classes of a release show."""

    classes: pa.Table
    """Released quasi-identifiers of every class."""
    means: Mapping[str, FloatArray]
    """Of each generalized number: the mean of every class, NaN where it shows none; each of shape (n_classes,)."""
    owner: Mapping[str, Any]
    """Number of withheld means, by column and rule: for the owner alone."""
    distances: Mapping[str, Any]
    """Of the means, and of the middles of intervals, from the numbers of the rows (`number_distances`): for the owner
    alone."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Contributions:
    """Contributions of people to the sums of classes, one entry for each class and person with a number there."""

    at: IntArray
    """Class of each entry, shape (n_entries,)."""
    sizes: FloatArray
    """Sum of the absolute values of its numbers, shape (n_entries,)."""

    def withheld(self, n_classes: int, k: int) -> dict[str, BoolArray]:
        """Return by rule which classes break it, each of shape (n_classes,)."""
        order = np.lexsort((-self.sizes, self.at))
        at, sizes = self.at[order], self.sizes[order]
        people = np.bincount(at, minlength=n_classes)
        total = np.bincount(at, weights=sizes, minlength=n_classes)
        starts = np.concatenate([[0], np.cumsum(people)[:-1]]).astype(np.int64)
        first, second = np.zeros(n_classes), np.zeros(n_classes)
        first[people > 0] = sizes[starts[people > 0]]
        second[people > 1] = sizes[starts[people > 1] + 1]
        with np.errstate(invalid="ignore"):  # infinite numbers have no mean
            rest = total - first - second
            return {
                "few": people < k,
                "p_percent": (first > 0) & (rest < P_PERCENT / 100 * first),
                "dominance": first > DOMINANCE / 100 * total,
            }


def class_means(
    beside: Beside,
    engine: Engine,
    names: Sequence[str],
    bounds: Mapping[str, Any],
    holders: Sequence[str],
    k: int,
) -> ClassMeans:
    """Compute the mean of each generalized number in each class, withheld where it discloses one person's.

    Parameters
    ----------
    beside : callable
        See `Beside`.
    names : sequence of str
        Released quasi-identifiers.
    bounds : mapping
        Generalized numbers as in `params.json`: `labels` with the ends of each, and `step` where one is declared.
    holders : sequence of str
        Columns that say, or may say, whose a row is; without any each row is a person.
    k : int
        Least number of people with a number whose mean is shown.

    Privacy
    -------
    Every member's number is in its mean. Withheld are means of fewer than k people; those from which the second largest
    contributor learns the largest within 10 % (p-% rule) or in which one makes up more than 80 % (dominance); and those
    so near an end of their interval that every number of the class lies within a tenth of it. Contributions are
    absolute values, by person; where nobody declared whose rows are whose, by every column that may say so.
    """
    raw = {name: f"original {at}: {name}" for at, name in enumerate(bounds)}  # no column of a table is called so
    rows = beside(list(raw.items()))
    classes, means, owner = _classes(rows, names, engine), {}, {}
    for name, entry in bounds.items():
        numbers, of_rows = np.full(classes.num_rows, np.nan), np.zeros(classes.num_rows, np.int64)
        withheld: dict[str, BoolArray] = {}
        for holder in (None, *holders):
            columns = dict.fromkeys((*names, raw[name], *([] if holder is None else [holder])))
            (counted,) = engine.count_sets(rows, [tuple(columns)])
            counted = counted.filter(counted.column(raw[name]).is_valid())
            at = _places(counted, classes, names)
            values = np.asarray(counted.column(raw[name]).cast(pa.float64(), safe=False).to_numpy(), np.float64)
            n_rows = np.asarray(counted.column(COUNT).to_numpy(), np.int64)
            if holder is None:
                numbers, of_rows = _means(at, values, n_rows, classes.num_rows)
            if holder is not None or not holders:
                found = _contributions(counted, at, values, n_rows, holder).withheld(classes.num_rows, k)
                withheld = {rule: hits | withheld.get(rule, False) for rule, hits in found.items()}
        ends = _ends(classes.column(name).to_pylist(), entry)
        withheld["near_end"] = _near_end(numbers, of_rows, ends)
        hidden = np.logical_or.reduce([*withheld.values(), ~np.isfinite(numbers)])
        means[name] = np.array(
            [
                middle(low, high) if hides else rounded(mean, low, high, entry.get("step"))
                for mean, hides, (low, high) in zip(numbers.tolist(), hidden.tolist(), ends, strict=True)
            ]
        )
        owner[name] = {"classes": classes.num_rows, **{rule: int(hits.sum()) for rule, hits in withheld.items()}}
    return ClassMeans(
        classes=classes,
        means=means,
        owner=owner,
        distances={} if is_too_large(rows, engine) else _distances(rows, engine, names, raw, classes, means, bounds),
    )


def _distances(
    rows: Source,
    engine: Engine,
    names: Sequence[str],
    raw: Mapping[str, str],
    classes: pa.Table,
    means: Mapping[str, FloatArray],
    bounds: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the distances of middles and of means from the numbers, in columns of which every class has both."""
    middles = {
        name: np.array([middle(*ends) for ends in _ends(classes.column(name).to_pylist(), bounds[name])], np.float64)
        for name in means
    }
    known = [name for name in means if np.isfinite(middles[name]).all() and np.isfinite(means[name]).all()]
    (counted,) = engine.count_sets(rows, [(*names, *(raw[name] for name in known))])
    for name in known:
        counted = counted.filter(counted.column(raw[name]).is_valid())
    if not known or not counted.num_rows:
        return {}
    at = _places(counted, classes, names)
    own = np.column_stack([counted.column(raw[name]).cast(pa.float64(), safe=False).to_numpy() for name in known])
    finite = (np.abs(own) < _SQUARES).all(axis=1)
    at, own, n_rows = at[finite], own[finite], np.asarray(counted.column(COUNT).to_numpy(), np.float64)[finite]
    if not n_rows.size:
        return {}
    return {
        what: number_distances(own, np.column_stack([shown[name][at] for name in known]), n_rows)
        for what, shown in (("middles", middles), ("means", means))
    }


def rules_of_means() -> dict[str, Any]:
    """Return the rules by which means are withheld, as `params.json` states them."""
    return {"digits": _DIGITS, "p_percent": P_PERCENT, "dominance": DOMINANCE, "near_end": NEAR_END}


def middle(low: float | None, high: float | None) -> float:
    """Return the middle of an interval, NaN where an end is open."""
    return float("nan") if low is None or high is None else (low + high) / 2


def rounded(mean: float, low: float | None, high: float | None, step: float | None) -> float:
    """Return a mean as it is shown, within its interval.

    To a multiple of the declared step, else of a power of ten that leaves two significant digits of the size of the
    interval; where an end is open, of the distance from the other end, and of the mean itself where both are.
    """
    if step is not None:
        return _within(float(f"{round(mean / step) * step:.12g}"), low, high)
    exact, ends = Decimal(mean), [Decimal(str(end)) for end in (low, high) if end is not None]
    size = ends[1] - ends[0] if len(ends) > 1 else abs(exact - (ends[0] if ends else 0))
    if not size:
        return float(ends[0]) if ends else 0.0
    unit = Decimal(1).scaleb(size.adjusted() + 1 - _DIGITS)
    return _within(float(round(exact / unit) * unit), low, high)


def _within(number: float, low: float | None, high: float | None) -> float:
    number = number if low is None else max(number, float(low))
    return (number if high is None else min(number, float(high))) + 0.0  # 0 has no sign


def _classes(rows: Source, names: Sequence[str], engine: Engine) -> pa.Table:
    (counted,) = engine.count_sets(rows, [tuple(names)])
    return counted.select([*names]).combine_chunks()


def _places(counted: pa.Table, classes: pa.Table, names: Sequence[str]) -> IntArray:
    """Return the class of every entry, shape (n_entries,)."""
    both = pa.concat_tables([classes, counted.select([*names])])
    number, n_found = combine([_codes(both.column(name)) for name in names], both.num_rows)
    place = np.zeros(n_found, np.int64)
    place[number[: classes.num_rows]] = np.arange(classes.num_rows)
    return np.asarray(place[number[classes.num_rows :]], np.int64)


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def _means(at: IntArray, values: FloatArray, n_rows: IntArray, n_classes: int) -> tuple[FloatArray, IntArray]:
    """Return the mean of every class, NaN where no row has a number, and the rows that have one."""
    order = np.lexsort((n_rows, values, at))  # sums do not depend on the order in which an engine counts
    of_rows = np.bincount(at, weights=n_rows, minlength=n_classes)
    with np.errstate(over="ignore"):
        sums = np.bincount(at[order], weights=(values * n_rows)[order], minlength=n_classes)
    with np.errstate(invalid="ignore", over="ignore"):
        return sums / of_rows, of_rows.astype(np.int64)


def _contributions(
    counted: pa.Table, at: IntArray, values: FloatArray, n_rows: IntArray, holder: str | None
) -> Contributions:
    """Return the contributions by a column that says whose a row is; a row of nobody is a person of its own."""
    sizes = np.abs(values)
    if holder is None:
        return Contributions(at=np.repeat(at, n_rows), sizes=np.repeat(sizes, n_rows))
    somebodys = counted.column(holder).is_valid().to_numpy()
    number, n_found = combine(
        [at[somebodys], _codes(counted.column(holder).filter(pa.array(somebodys)))], int(somebodys.sum())
    )
    of_person = np.zeros(n_found, np.int64)
    of_person[number] = at[somebodys]
    together = np.bincount(number, weights=(sizes * n_rows)[somebodys], minlength=n_found)
    alone = np.repeat(np.flatnonzero(~somebodys), n_rows[~somebodys])
    return Contributions(at=np.concatenate([of_person, at[alone]]), sizes=np.concatenate([together, sizes[alone]]))


def _ends(labels: Sequence[str | None], entry: Mapping[str, Any]) -> list[tuple[float | None, float | None]]:
    ends = {label: (low, high) for label, low, high in entry["labels"]}
    return [ends[label] for label in labels]


def _near_end(means: FloatArray, of_rows: IntArray, ends: Sequence[tuple[float | None, float | None]]) -> BoolArray:
    """Return the classes whose numbers all lie within a tenth of their interval, as their mean shows."""
    low, high = (
        np.array([np.nan if end is None else end for end in side], np.float64) for side in zip(*ends, strict=True)
    )
    with np.errstate(invalid="ignore"):
        nearest = np.minimum(means - low, high - means) * of_rows
        return np.asarray((high > low) & (nearest < NEAR_END * (high - low)))
