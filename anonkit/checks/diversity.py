# SPDX-License-Identifier: Apache-2.0
"""Diversity of a sensitive attribute within equivalence classes: l, t, alpha and beta of the worst class.

Sources: Machanavajjhala et al. 2007 (l, entropy l, recursive (c, l)), Li et al. 2007 (t), Wong et al. 2006 (alpha),
Cao and Karras 2012 (beta).

Homogeneity of the target: the share of released records whose equivalence class has a single target value.

Whoever places a person in such a class knows the person's target value, however large the class is. It is counted for
the target of every k-anonymous release, declared sensitive or not, and is beside what a target that has nothing to
do with the quasi-identifiers would show in classes of the same sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.counted_as import CountedAs
from anonkit.documents import ReportPart


@dataclass(frozen=True, kw_only=True)
class UniformClasses(ReportPart):
    """Records in equivalence classes of one target value; a missing target cell is a value like any other."""

    target: str
    share: float
    """Share of the records in such classes, in [0, 1]; 0 for an empty table."""
    expected_share: float
    """The same share, on average over all ways to deal the target values out to the rows, in [0, 1]."""
    commonest_value: float
    """Share of the records with the commonest target value, in [0, 1]: how often a guess at it is right."""


def uniform_shares(
    target: str, rows: NDArray[Any], uniform: int, of_values: tuple[NDArray[Any], NDArray[Any]]
) -> UniformClasses:
    """Return the shares that follow from counts.

    Parameters
    ----------
    rows : array of int, shape (n_classes,)
        Rows of each class.
    uniform : int
        Records in classes of one value.
    of_values : tuple of arrays of int
        Numbers of records that a value of the target has, and how many values have each.
    """
    sizes, classes = np.unique(rows, return_counts=True)
    records = sizes * classes
    counts, values = of_values
    n = int(records.sum())
    if n == 0:
        return UniformClasses(target=target, share=0.0, expected_share=0.0, commonest_value=0.0)
    dealt = {int(size): _all_alike(int(size), n, counts, values) for size in sizes}
    return UniformClasses(
        target=target,
        share=uniform / n,
        expected_share=math.fsum(_weights(sizes, records, dealt)) / n,
        commonest_value=int(counts.max()) / n,
    )


def _weights(sizes: Any, records: Any, dealt: Mapping[int, float]) -> list[float]:
    return [int(count) * dealt[int(size)] for size, count in sorted(zip(sizes, records, strict=True))]


def _all_alike(size: int, n: int, counts: Any, values: Any) -> float:
    """Return the probability that rows drawn without replacement are alike: the sum of C(count, size) / C(n, size)."""
    enough, of_all = counts >= size, _log_binomial(n, size)
    return math.fsum(
        share
        for count, times in zip(counts[enough].tolist(), values[enough].tolist(), strict=True)
        for share in repeat(math.exp(_log_binomial(count, size) - of_all), times)
    )


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


Numbers = NDArray[Any]

Pairs = tuple[Numbers, Numbers, Numbers, Numbers]
"""Classes, values, counts, and holders of each pair's class."""

NOTHING: Mapping[str, float] = {"l": 0.0, "entropy_l": 0.0, "t": 0.0, "alpha": 0.0, "beta": 0.0}
"""Figures of a table without rows."""
NO_VALUE: Mapping[str, float] = {"l": 0.0, "entropy_l": 0.0, "t": 1.0, "alpha": 0.0, "beta": 0.0}
"""Figures of a class in which nobody has a value; no c is large enough for its recursive diversity."""
NOTHING_CAPPED: Mapping[str, float] = {"confidence": 0.0, "confidence_cap": 1.0}
"""Share and cap of the value that is most above its cap, where no class has one that is capped."""
PLAIN = CountedAs()
"""Only equal values are one, and nothing is capped."""
_LEAST = ("l", "entropy_l")
"""The worst class has the least of these, and the most of all others."""


def diversity_of(
    classes: Numbers,
    values: Numbers,
    counts: Numbers,
    ordered: bool,
    recursive: Sequence[int] = (2, 3),
    *,
    some_have_none: bool = False,
    counted: CountedAs = PLAIN,
) -> dict[str, float]:
    """Return the diversity of the worst class of a table, from counts of (class, value), each pair once.

    Parameters
    ----------
    classes, values : array of int, shape (n_pairs,)
        Dense codes; values in their order when `ordered`.
    counts : array, shape (n_pairs,)
        Rows, above 0.
    ordered : bool
        True: t is the ordered distance, else the equal one.
    recursive : sequence of int
        Values of l for recursive (c, l)-diversity.
    some_have_none : bool
        There is a class besides these in which nobody has a value.
    counted : CountedAs
        Which values are one, but for t.
    """
    order = np.lexsort((values, classes))
    overall = np.bincount(values, counts) if values.size else np.zeros(0)
    holders = np.bincount(classes, counts)[classes[order]] if classes.size else counts
    pairs = (classes[order], values[order], counts[order], holders)
    parts = [pairs] if classes.size else []
    return published_worst(worst_of(parts, overall, ordered, recursive, some_have_none=some_have_none, counted=counted))


def worst_of(
    parts: Iterable[Pairs],
    overall: Numbers,
    ordered: bool,
    recursive: Sequence[int] = (2, 3),
    *,
    anybody: int | None = None,
    some_have_none: bool = False,
    counted: CountedAs = PLAIN,
    members: Numbers | None = None,
) -> dict[str, float]:
    """Return the figures of the worst class of some, from its pairs in parts; each part is dropped after use.

    Of holders who may have several values (people with several rows), every model looks at the least diverse division
    in which each holder counts once: the commonest value takes as many as hold it, the next one as many of the others
    as may hold it, and so on. Where the counts of a class add up to its holders that is the class itself. The distance
    is between the shares of holders with each value; of several values a holder has, each counts.

    Parameters
    ----------
    parts : iterable of (classes, values, counts, holders)
        The first three as in `diversity_of`, each sorted by class and value; no class is in two parts, no part is
        empty. `holders` is how many have a value in the class of each pair.
    overall : array, shape (n_values,)
        Holders of each value in the whole table.
    anybody : int, optional
        Holders of any value in the whole table, where they may have several; else the sum of the above.
    some_have_none : bool
        There is a class besides these in which nobody has a value.
    counted : CountedAs
        Which values are one, but for t, and the cap of each.
    members : array, shape (n_classes,), optional
        Rows or people of each class, those without a value too, by which shares under a cap are; else its holders.

    Returns
    -------
    dict
        As `published_worst` returns it, and infinite figures too.
    """
    everybody = overall.sum() if anybody is None else anybody
    shares = np.minimum(overall, everybody) / max(everybody, 1)
    worst: dict[str, float] = dict(NO_VALUE) if some_have_none else {}
    if counted.caps is not None:
        worst |= NOTHING_CAPPED
    for l in recursive if some_have_none else ():  # noqa: E741
        worst[f"recursive_c_{l}"] = np.inf
    for classes, values, counts, holders in parts:
        starts = np.flatnonzero(np.diff(classes, prepend=classes[0] - 1))
        found = _worst(starts, values, counts, holders, shares, ordered, recursive)
        found |= _as_counted(starts, values, counts, holders, holders if members is None else members[classes], counted)
        found |= _in_groups(starts, values, counts, holders, counted, recursive)
        worst = united([worst, found])
    return worst


def united(found: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the diversity of the worst class of all, from that of the worst of some classes each."""
    worst: dict[str, float] = {}
    for each in found:
        if "confidence" in each and _above_cap(each) > _above_cap(worst):
            worst |= {name: each[name] for name in NOTHING_CAPPED}
        for name, value in each.items():
            if name in NOTHING_CAPPED:
                continue
            worse = min if name in _LEAST else max
            worst[name] = worse(worst.get(name, value), value)
    return worst


def _above_cap(worst: Mapping[str, float]) -> float:
    """Return by how much the likeliest capped value is above its cap, or below it."""
    return worst["confidence"] - worst["confidence_cap"] if "confidence" in worst else -np.inf


def published_worst(worst: Mapping[str, float]) -> dict[str, float]:
    """Return the published figures of the worst class, without a recursive diversity that no c is enough for."""
    return {name: float(value) for name, value in worst.items() if np.isfinite(value)}


def _worst(
    starts: Numbers,
    values: Numbers,
    counts: Numbers,
    holders: Numbers,
    overall: Numbers,
    ordered: bool,
    recursive: Sequence[int],
) -> dict[str, float]:
    """Return the worst of some classes; `starts` are the places of their first pairs."""
    lengths = np.diff(starts, append=values.size)
    classes = np.repeat(np.arange(starts.size), lengths)
    share = np.minimum(counts, holders) / holders
    moved = (
        _earth_mover(starts, values, np.minimum(counts, holders), holders, overall)
        if ordered
        else _variation(starts, values, share, overall)
    )
    ranked = counts[np.lexsort((-counts, classes))]
    divided = np.clip(holders - (_up_to(starts, ranked) - ranked), 0, ranked)
    part = np.where(divided > 0, divided / holders, 1.0)  # 1 adds nothing to an entropy
    out = {
        "l": float(np.add.reduceat((divided > 0).astype(np.int64), starts).min()),
        "entropy_l": float(np.exp(np.add.reduceat(-part * np.log(part), starts)).min()),
        "alpha": float(share.max()),
        "beta": float((share / overall[values]).max()) - 1,
        "t": min(float(moved.max()), 1.0),
    }
    place = np.arange(counts.size) - np.repeat(starts, lengths)
    for l in recursive:  # noqa: E741
        tail = np.add.reduceat(divided * (place >= l - 1), starts)
        with np.errstate(divide="ignore"):
            out[f"recursive_c_{l}"] = float((divided[starts] / tail).max())
    return out


def _as_counted(
    starts: Numbers, values: Numbers, counts: Numbers, holders: Numbers, members: Numbers, counted: CountedAs
) -> dict[str, float]:
    """Return the figures of the worst class that depend on which values are one, and on the caps of values.

    Values further apart than the width are counted from the least one on, each time the next that lies behind the end
    of the last: no more values of a class are so far apart. Where people hold several values, so many of the rarest of
    these may have no holder of their own as there are more holdings than people.
    """
    ends, caps = counted.ends, counted.caps
    if ends is None and caps is None:
        return {}
    lengths = np.diff(starts, append=values.size)
    classes = np.repeat(np.arange(starts.size), lengths)
    out: dict[str, float] = {}
    within = counts
    if ends is not None:
        width = int(max(values.max(), ends.max())) + 1
        behind = np.searchsorted(classes * width + values, classes * width + ends[values])
        sums = np.concatenate([[0.0], np.cumsum(counts)])
        within = sums[behind] - sums[:-1]
        out["alpha"] = float((np.minimum(within, holders) / holders).max())
        at, stops, apart = starts.copy(), starts + lengths, np.zeros(values.size, dtype=bool)
        left = np.arange(starts.size)
        while left.size:
            apart[at[left]] = True
            at[left] = behind[at[left]]
            left = left[at[left] < stops[left]]
        n_apart = np.add.reduceat(apart.astype(np.int64), starts)
        surplus = np.add.reduceat(counts, starts) - holders[starts]
        chosen = np.flatnonzero(apart)
        order = chosen[np.lexsort((counts[chosen], classes[chosen]))]
        first = np.concatenate([[0], np.cumsum(n_apart)[:-1]])
        spare = _up_to(first, counts[order]) <= surplus[classes[order]]
        out["l"] = float((n_apart - np.bincount(classes[order], spare, minlength=starts.size)).min())
    if caps is not None:
        shares = np.minimum(within, members) / members
        worst = int(np.argmax(shares - caps[values]))
        if np.isfinite(caps[values[worst]]):
            out |= {"confidence": float(shares[worst]), "confidence_cap": float(caps[values[worst]])}
    return out


def _in_groups(
    starts: Numbers, values: Numbers, counts: Numbers, holders: Numbers, counted: CountedAs, recursive: Sequence[int]
) -> dict[str, float]:
    """Return the entropy and the recursive diversity of the worst of some classes whose close numbers are one value.

    In every class the values within the width of one of them that most hold are the first group, the one with the
    least value among equals; those that most hold of the others are the next, until none is left. A group counts at
    most as many holders as the groups before it have left.
    """
    if counted.ends is None:
        return {}
    width = int(max(values.max(), counted.ends.max())) + 1
    classes = np.repeat(np.arange(starts.size), np.diff(starts, append=values.size))
    left, of_class = np.arange(values.size), holders[starts].astype(np.float64)
    commonest, entropy, nobodys = np.zeros(starts.size), np.zeros(starts.size), of_class.copy()
    tails = {ell: np.zeros(starts.size) for ell in recursive}
    n_groups = 0
    while left.size:
        here, keys = classes[left], classes[left] * width + values[left]
        behind = np.searchsorted(keys, here * width + counted.ends[values[left]])
        running = np.concatenate([[0.0], np.cumsum(counts[left])])
        near = running[behind] - running[:-1]
        begins = np.flatnonzero(np.diff(here, prepend=here[0] - 1))
        most, open_ones = np.maximum.reduceat(near, begins), here[begins]
        sizes = np.diff(begins, append=here.size)
        largest = np.where(near == np.repeat(most, sizes), np.arange(here.size), here.size)
        first = np.minimum.reduceat(largest, begins)
        group = np.minimum(most, nobodys[open_ones])
        nobodys[open_ones] -= group
        share = np.where(group > 0, group / of_class[open_ones], 1.0)  # 1 adds nothing to an entropy
        entropy[open_ones] -= share * np.log(share)
        commonest[open_ones] = np.maximum(commonest[open_ones], group)
        for ell, tail in tails.items():
            tail[open_ones] += group * (n_groups >= ell - 1)
        n_groups += 1
        places = np.arange(here.size)
        left = left[(places < np.repeat(first, sizes)) | (places >= np.repeat(behind[first], sizes))]
    with np.errstate(divide="ignore"):
        found = {f"recursive_c_{ell}": float((commonest / tail).max()) for ell, tail in tails.items()}
    return {"entropy_l": float(np.exp(entropy).min()), **found}


def _up_to(starts: Numbers, counts: Numbers) -> Numbers:
    """Return the running sum of the counts inside each class: integers, so nothing is rounded."""
    running = np.cumsum(counts)
    before = np.concatenate([[0], running[starts[1:] - 1]])
    return np.asarray(running - np.repeat(before, np.diff(starts, append=counts.size)))


def _variation(starts: Numbers, values: Numbers, share: Numbers, overall: Numbers) -> Numbers:
    """Return the largest growth, or loss, of a share from the table to each class, shape (n_classes,)."""
    q = overall[values]
    more = np.add.reduceat(np.maximum(share - q, 0.0), starts)
    less = np.add.reduceat(np.maximum(q - share, 0.0) - q, starts) + overall.sum()
    return np.asarray(np.maximum(more, less))


def _earth_mover(starts: Numbers, values: Numbers, counts: Numbers, holders: Numbers, overall: Numbers) -> Numbers:
    """Return the ordered distance of each class to the table, shape (n_classes,).

    It is the area between two distribution functions. That of a class is constant between two values of the class, and
    that of the table ascends: they cross once there, and sums of the table's function on both sides of the crossing
    give the area. So the work is by the pairs, not by classes times values. Shares that add up to more than 1 are added
    up from both ends, and the larger area counts.
    """
    n_values = overall.size
    below = np.cumsum(overall)
    area = np.concatenate([[0.0], np.cumsum(below)])
    lengths = np.diff(starts, append=values.size)
    running = _up_to(starts, counts)
    last = starts + lengths - 1
    excess = running[last] / holders[last] - below[-1]
    ends = np.append(values[1:], n_values)
    ends[last] = n_values
    first = np.zeros(starts.size, dtype=values.dtype)
    sums = []
    for shift in (np.zeros(starts.size), excess):
        level = running / holders - np.repeat(shift, lengths)
        inside = np.add.reduceat(_area(level, values, ends, below, area), starts)
        before = _area(-shift, first, values[starts], below, area)
        sums.append(inside + before - np.abs(excess - shift))
    return np.asarray(np.maximum(*sums)) / max(n_values - 1, 1)


def _area(level: Numbers, first: Numbers, end: Numbers, below: Numbers, area: Numbers) -> Numbers:
    """Return the sum of |level - below[j]| over first <= j < end, for ascending `below` with running sums `area`."""
    crossing = np.clip(np.searchsorted(below, level), first, end)
    left = level * (crossing - first) - (area[crossing] - area[first])
    right = area[end] - area[crossing] - level * (end - crossing)
    return np.asarray(left + right)
