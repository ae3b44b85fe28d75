# SPDX-License-Identifier: Apache-2.0
"""Whether the answers of a randomized table can come from the mechanism that its parameters state.

Blind answers alone give every value a least share, whatever the truth was. The likeliest true shares are fitted behind
the stated response matrix; when even they do not explain the observed counts, the table was not randomized as stated:
too few blind answers, or none at all. The test is strict, so that a sound release fails once in a million.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.data_files import iter_batches, read_schema
from anonkit.errors import ReleaseFormatError
from anonkit.guarantee import Check
from anonkit.mechanisms.channel import Channel
from anonkit.mechanisms.domains import Categories, Grid
from anonkit.mechanisms.published import PublishedTable
from anonkit.mechanisms.transformed_response import TransformedResponse

LEVEL = 1e-6
"""Probability that a sound release fails any of these checks, at most."""
_BATCH_ROWS = 1 << 16
_ROUNDS = 2000
_FEWEST = 50
"""Answers below which the approximation of the test does not hold; such a column is not judged."""

Counts = NDArray[np.float64]


def response_rate_checks(data: Path, table: PublishedTable) -> Iterator[Check]:
    """Compare the answers of every column with its mechanism.

    Parameters
    ----------
    data : path
        The Parquet file.
    table : PublishedTable
        What its parameters say.

    Yields
    ------
    Check
        `response_rates:COLUMN`; observed is the p-value, required the level divided by the number of columns.
    """
    channels = _channels(table)
    level = LEVEL / max(len(channels), 1)
    for name, counts in _answer_counts(data, table, channels).items():
        if counts.sum() >= _FEWEST:
            p_value = consistency(counts, channels[name][1])
            yield Check(name=f"response_rates:{name}", passed=p_value >= level, observed=p_value, required=level)


def consistency(counts: Counts, channel: Channel) -> float:
    """Return the p-value of answer counts under a response matrix and the true shares that suit them best.

    A likelihood-ratio test with one degree of freedom less than there are answers, which is more than the fit leaves:
    the p-value is never too small.
    """
    from scipy.special import chdtrc

    expected = counts.sum() * channel.forward(_likeliest_shares(counts, channel))
    seen = counts > 0
    with np.errstate(divide="ignore"):
        statistic = 2 * float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())
    return float(chdtrc(max(channel.n_outputs - 1, 1), max(statistic, 0.0)))


def _likeliest_shares(counts: Counts, channel: Channel) -> Counts:
    """Fit true shares by expectation maximization."""
    shares = np.full(channel.n_inputs, 1 / channel.n_inputs)
    total = counts.sum()
    for _ in range(_ROUNDS):
        answers = channel.forward(shares)
        ratio = np.divide(counts, answers, out=np.zeros_like(counts), where=answers > 0)
        fitted: Counts = shares * channel.backward(ratio) / total
        if np.abs(fitted - shares).max() < 1e-9:
            return fitted
        shares = fitted
    return shares


def _channels(table: PublishedTable) -> dict[str, tuple[Categories | Grid, Channel]]:
    """Return the answers' domain and the channel of every column that has a response matrix."""
    found: dict[str, tuple[Categories | Grid, Channel]] = {}
    n_classes = table.target.domain.size if table.target is not None else 1
    for attribute in table.attributes:
        domain = attribute.answers()
        if domain is not None and not isinstance(attribute.mechanism, TransformedResponse):
            found[attribute.name] = (domain, attribute.value_channel(n_classes))
    if table.target is not None and table.target.mechanism is not None:
        found[table.target.name] = (table.target.domain, table.target.mechanism)
    return found


def _answer_counts(
    data: Path, table: PublishedTable, channels: dict[str, tuple[Categories | Grid, Channel]]
) -> dict[str, Counts]:
    asked = table.asked_column
    try:
        present = read_schema(data).names
        there = [name for name in channels if name in present]
        counts = {name: np.zeros(channels[name][1].n_outputs) for name in there}
        extra = [asked] if asked is not None and asked in present else []
        for batch in iter_batches(data, [*there, *extra], batch_rows=_BATCH_ROWS):
            answered = None if not extra else np.asarray(_texts(batch.column(asked)))
            for name in there:
                codes = _codes(batch.column(name), channels[name][0])
                target = table.target is not None and name == table.target.name
                keep = codes >= 0 if answered is None or target else (codes >= 0) & (answered == name)
                counts[name] += np.bincount(codes[keep], minlength=counts[name].size)[: counts[name].size]
    except (pa.ArrowException, OSError):
        raise ReleaseFormatError(f"{str(data)!r} is not a readable Parquet file") from None
    return counts


def _texts(cells: pa.Array) -> list[Any]:
    plain = cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells
    values: list[Any] = plain.cast(pa.string()).to_pylist()
    return values


def _codes(cells: pa.Array, domain: Categories | Grid) -> NDArray[np.int64]:
    """Return the code of every answer; -1 for what is none, which the domain checks tell."""
    if isinstance(domain, Categories):
        encoded = cells if isinstance(cells, pa.DictionaryArray) else cells.dictionary_encode()
        known = domain.codes_of
        values = [known.get(value, -1) for value in encoded.dictionary.cast(pa.string()).to_pylist()]
        lookup = np.array([*values, known.get(None, -1)], dtype=np.int64)
        at = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64)
        return np.asarray(lookup[at], dtype=np.int64)
    numbers = np.asarray(cells.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
    absent = np.isnan(numbers)
    places = np.floor((np.where(absent, domain.lower, numbers) - domain.lower) / domain.width).astype(np.int64)
    places[(places < 0) | (places >= domain.cells)] = -1
    places[absent] = domain.cells if domain.has_missing else -1
    return places
