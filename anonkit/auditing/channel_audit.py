# SPDX-License-Identifier: Apache-2.0
"""Lower bound on the epsilon of a randomized table, from many answers drawn for two opposite rows.

The two rows differ in every column: the ends of a number, the two commonest values of a category, as the source has
them. The published mechanisms answer for each as they did for the rows of the release, and an attacker who knows them
distinguishes the answers by their likelihood ratio, column by column and for the whole row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import Values, columns_of
from anonkit.auditing.attacks.loss import ALPHA, BELOW, REFUTED, REFUTED_ALPHA, UNCLAIMED, LossBound
from anonkit.auditing.attacks.rates import WEAK
from anonkit.auditing.epsilon_audit import EpsilonBound, epsilon_from_counts, lower_bound
from anonkit.domains.array_types import FloatArray
from anonkit.published.randomized_table import PublishedTable
from anonkit.randomized_response.randomized_rows import RandomizeBatch
from anonkit.randomness import Randomness

ANSWERS = 200_000
"""Answers drawn for each of the two rows."""
_ROUNDING = 1e-5
"""Likelihood ratios that lie so near each other are one; answers that say the same are one answer."""


def answer_again(
    report: Mapping[str, Any], params: Mapping[str, Any], original: pa.Table, *, runs: int | None = None, seed: int = 0
) -> LossBound:
    """Answer for two opposite rows by the published mechanisms and bound epsilon from below.

    Parameters
    ----------
    report, params : mapping
        Of the release.
    original : Table
        The source it was made from.
    runs : int, optional
        Answers for each row, in [20, inf).
    seed : int
        Which noise; nothing of it is released.
    """
    table, n = PublishedTable.from_params(params), runs or ANSWERS
    claimed = float(report["guarantee"]["parameters"]["epsilon"])
    names = [attribute.name for attribute in table.attributes] + (
        [table.target.name] if table.target is not None else []
    )
    pairs = {name: _opposites(original.column(name)) for name in names}
    answers = [_answers(table, pairs, at, n, Randomness.seeded(seed).child(f"row {at}")) for at in (0, 1)]
    whole = _whole(table, pairs, answers)
    losses = table.losses
    columns = []
    for name, loss in losses.items() if table.asked_column is None else ():
        alone = _alone(answers, name, ALPHA / len(losses))
        columns.append({"name": name, **_told(loss, alone)})
    return LossBound(
        claimed=claimed,
        lower_bound=whole.lower_bound,
        surest=_surest(whole, REFUTED_ALPHA),
        most_measurable=epsilon_from_counts((whole.frequent[1],) * 2, (0, whole.rare[1]), alpha=ALPHA),
        neighbours="one row replaced by another that differs in every column",
        how="the published mechanisms answered for two opposite rows, as they did for the rows of the release; the "
        "bound is that of the likelihood ratio of whole rows, and of every column alone, the error shared among them",
        counts={
            "answers": n,
            "columns_added_up": sum(attribute["lower_bound"] for attribute in columns) if columns else None,
        },
        columns=tuple(columns),
    )


def _told(loss: float, alone: EpsilonBound) -> dict[str, Any]:
    refuted = _surest(alone, REFUTED_ALPHA * alone.alpha / ALPHA) > loss
    verdict = REFUTED if refuted else WEAK if alone.lower_bound <= 0 else UNCLAIMED if math.isinf(loss) else BELOW
    claimed = "inf" if math.isinf(loss) else loss
    return {"claimed": claimed, "lower_bound": alone.lower_bound, "verdict": verdict}


def _surest(bounds: EpsilonBound, alpha: float) -> float:
    return epsilon_from_counts(bounds.frequent, bounds.rare, alpha=alpha)


def _opposites(column: pa.ChunkedArray) -> pa.Array:
    """Return two values of a column: the ends of a number, else the two commonest; a missing cell only beside none."""
    values = Values.of(column)
    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    commonest = [values.values[at] for at in np.argsort(-values.counts, kind="stable").tolist()]
    there = [value for value in commonest if value is not None] or [None]
    if pa.types.is_integer(plain) or pa.types.is_floating(plain) or pa.types.is_decimal(plain):
        return pa.array([min(there), max(there)] if there[0] is not None else [None, None], plain)
    return pa.array([there[0], there[min(1, len(there) - 1)]], plain)


def _answers(table: PublishedTable, pairs: Mapping[str, pa.Array], at: int, n: int, rng: Randomness) -> pa.Table:
    batch = pa.RecordBatch.from_arrays(
        [pair.take(pa.array(np.full(n, at))) for pair in pairs.values()], names=list(pairs)
    )
    category = pa.dictionary(pa.int32(), pa.string())
    types = {attribute.name: pa.float64() if attribute.is_number else category for attribute in table.attributes}
    if table.target is not None:
        types[table.target.name] = pa.float64() if table.target.is_number else category
    if table.asked_column is not None:
        types[table.asked_column] = category
    randomize = RandomizeBatch(table=table, key=rng.key("noise"), schema=pa.schema(list(types.items())))
    return pa.Table.from_batches([randomize(batch, 0)])


def _whole(table: PublishedTable, pairs: Mapping[str, pa.Array], answers: list[pa.Table]) -> EpsilonBound:
    """Distinguish whole rows: by all their cells where one attribute is answered, else by their likelihood ratio."""
    if table.asked_column is not None:
        first, second = _symbols([[answer.column(name) for answer in answers] for name in answers[0].column_names])
        return lower_bound(first, second, alpha=ALPHA)
    known = {name: Values(values=pair.to_pylist(), codes=np.arange(2)) for name, pair in pairs.items()}
    ratios = []
    for answer in answers:
        columns = columns_of(answer, known, table)
        ratio = np.sum([column.scores(0) - column.scores(1) for column in columns.values()], axis=0, dtype=np.float64)
        ratios.append(np.asarray(ratio))
    return lower_bound(*_alike(ratios[0], ratios[1]), alpha=ALPHA)


def _alike(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ratios of both rows, those that differ by the rounding of floats alone as one and the same number.

    Rounding them to decimals would not do: two that are one can lie on either side of a half, and an answer would seem
    possible under one row alone.
    """
    both = np.concatenate([first, second])
    order = np.argsort(both, kind="stable")
    starts = np.append(True, np.diff(both[order]) > _ROUNDING) if both.size else np.zeros(0, dtype=bool)
    merged = np.empty_like(both)
    merged[order] = both[order][starts][np.cumsum(starts) - 1]
    return merged[: first.size], merged[first.size :]


def _alone(answers: list[pa.Table], name: str, alpha: float) -> EpsilonBound:
    columns = [table.column(name) for table in answers]
    if pa.types.is_floating(columns[0].type):
        first, second = (table.to_numpy().astype(np.float64) for table in columns)
        return lower_bound(first, second, alpha=alpha)
    first, second = _symbols([columns])
    return lower_bound(first, second, alpha=alpha)


def _symbols(columns: list[list[pa.ChunkedArray]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of cells, of the one table and of the other, as numbers that are alike where the cells are."""
    n = len(columns[0][0])
    codes = np.zeros(2 * n, dtype=np.int64)
    for first, second in columns:
        kind = first.type.value_type if pa.types.is_dictionary(first.type) else first.type
        both = Values.of(pa.chunked_array([*first.cast(kind).chunks, *second.cast(kind).chunks]))
        codes = np.unique(codes * len(both.values) + both.codes, return_inverse=True)[1]
    return codes[:n], codes[n:]
