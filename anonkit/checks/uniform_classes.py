# SPDX-License-Identifier: Apache-2.0
"""Homogeneity of the target: the share of released records whose equivalence class has a single target value.

Whoever places a person in such a class knows the person's target value, however large the class is. It is counted for
the target of every k-anonymous release, declared sensitive or not, and is beside what a target that has nothing to
do with the quasi-identifiers would show in classes of the same sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from anonkit.checks.table_scans import Lines
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


def uniform_classes(lines: Lines, quasi_identifiers: Sequence[str], target: str) -> UniformClasses:
    """Count the records in classes of one target value.

    Parameters
    ----------
    lines : Lines
        The table, as `anonkit.checks.table_scans.combined` yields it.
    quasi_identifiers : sequence of str
        Columns that make up the equivalence classes; none means that all rows are one class.
    target : str
        Column whose values are compared within each class.
    """
    connection, source = lines.connection, lines.source
    names = [f"q{at}" for at in range(len(quasi_identifiers))]
    keys = "".join(f"{lines.column(name)} AS {short}, " for name, short in zip(quasi_identifiers, names, strict=True))
    grouped = f"GROUP BY {', '.join(names)}" if names else ""
    cells = f"SELECT {keys}{lines.column(target)} AS target, {lines.rows()} AS n FROM {source} GROUP BY ALL"
    classes = connection.execute(
        f"SELECT rows, sum(rows)::BIGINT AS records, coalesce(sum(rows) FILTER (held = 1), 0)::BIGINT AS uniform FROM "
        f"(SELECT sum(n)::BIGINT AS rows, count(*) AS held FROM ({cells}) {grouped}) WHERE rows > 0 GROUP BY rows"
    ).fetchnumpy()
    by_value = f"SELECT {lines.rows()} AS n FROM {source} GROUP BY {lines.column(target)}"
    counts = connection.execute(by_value).fetchnumpy()["n"]
    sizes, records = (np.asarray(classes[name], dtype=np.int64) for name in ("rows", "records"))
    uniform = int(np.asarray(classes["uniform"], dtype=np.int64).sum())
    held, values = np.unique(np.asarray(counts, dtype=np.int64), return_counts=True)
    return uniform_shares(target, sizes, records, uniform, held, values)


def uniform_shares(target: str, sizes: Any, records: Any, uniform: int, counts: Any, values: Any) -> UniformClasses:
    """Return the shares that follow from counts.

    Parameters
    ----------
    sizes, records : array of int
        Sizes of classes, each once, and the records in classes of that size.
    uniform : int
        Records in classes of one value.
    counts, values : array of int, shape (n_counts,)
        Records that a value of the target has, ascending, each once, and how many values have so many.
    """
    n = int(records.sum())
    if n == 0:
        return UniformClasses(target=target, share=0.0, expected_share=0.0, commonest_value=0.0)
    counts, values = counts[counts > 0], values[counts > 0]
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
