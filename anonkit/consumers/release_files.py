# SPDX-License-Identifier: Apache-2.0
"""Files a receiver opens: a randomized release with its params, and tables of true values to predict from.

Detection of released rows where true values are expected, so that no score is measured on noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
from numpy.typing import NDArray

from anonkit.bundle.data_files import iter_batches, read_rows
from anonkit.bundle.json_documents import read_json
from anonkit.bundle.release_place import DATA, PARAMS, Place
from anonkit.bundle.stored_release import refuse_changed
from anonkit.consumers.column_statistics import ClassStatistics, Columns, Sums, answer_codes
from anonkit.domains.cell_values import NumberForm, cell_numbers
from anonkit.domains.coded_columns import BoolArray, FloatArray
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid, NumberBins
from anonkit.errors import ParameterError, ReleaseFormatError, SourceError
from anonkit.estimators.number_estimates import PowerSums, estimate_moments, score_sums
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.randomized_table import FORMAT, PublishedAttribute, PublishedTable

_FEWEST = 50
"""Rows below which frequencies are no evidence."""
_FEWEST_ANSWERS = 500
"""Answers of an attribute below which the shares behind them are too uncertain for the limits of a normal distribution:
with 70 to 170 of them true rows disagreed in 15 of 36 releases of `rr` at epsilon 4, with 440 in none of 12."""
_MOST = 10_000
"""Leading rows that are compared: more would not change the verdict."""
_RARE = 0.001
"""Error rate of each of two tests: true rows of the same population disagree with it, and so do answers with theirs."""


def looks_released(statistics: ClassStatistics, data: Columns) -> bool:
    """Return True if rows are answers of the release that was learned from, taken for true values.

    Certain signs are the column that names the answered attribute, rows with one value at most where one attribute is
    answered, and numbers that are all at possible answers. Else rows are taken for answers when every
    attribute agrees with the frequencies of the release's answers and at least one disagrees with the frequencies
    estimated behind them, each by tests that err once in 1,000 tables; where noise is too strong or too weak to
    distinguish the two the result is False.

    Parameters
    ----------
    statistics : ClassStatistics
        The sums of the release.
    data : Columns
        The rows in question.
    """
    table = statistics.table
    asked_column = table.asked_column
    present = [attribute for attribute in table.attributes if attribute.name in data]
    if data.n_rows == 0 or not present:
        return False
    if asked_column is not None and asked_column in data:
        return True
    data = data.head([published.name for published in present], _MOST)
    if asked_column is not None:
        values = sum(~_missing(data, attribute.name) for attribute in present)
        if len(present) > 1 and int(np.max(values)) <= 1:
            return True
    if data.n_rows < _FEWEST:
        return False
    verdicts = [
        _verdict(published, statistics.sums[published.name], statistics, data)
        for published in present
        if not is_unperturbed(published) and _n_answers(statistics.sums.get(published.name)) >= _FEWEST_ANSWERS
    ]
    if any(on_places for _, _, on_places in verdicts):
        return True
    return bool(verdicts) and all(fits for fits, _, _ in verdicts) and any(not true for _, true, _ in verdicts)


def _n_answers(sums: Sums | None) -> float:
    """Return the number of answers of an attribute in the release."""
    if sums is None:
        return 0.0
    return float(sums.sums[:, 0].sum()) if isinstance(sums, PowerSums) else float(sums.sum())


def _missing(data: Columns, name: str) -> BoolArray:
    array = data.array(name)
    return np.asarray(array.is_null(nan_is_null=True).to_numpy(zero_copy_only=False), dtype=bool)


def is_unperturbed(attribute: PublishedAttribute) -> bool:
    """Return True if every published value is the true one."""
    mechanism = attribute.mechanism
    if isinstance(mechanism, TransformedResponse):
        return mechanism.is_unperturbed
    return bool((np.diagonal(mechanism.response_matrix()) == 1).all())


def _verdict(
    attribute: PublishedAttribute, sums: Sums, statistics: ClassStatistics, data: Columns
) -> tuple[bool, bool, bool]:
    """Return True if a column agrees with the answers, with the truth behind them, and has only possible answers."""
    if isinstance(sums, PowerSums):
        return *_powers(attribute, sums, data), False
    answers = sums.reshape(statistics.n_classes, -1).sum(axis=0).astype(np.float64)
    codes = answer_codes(attribute, data)
    if (codes == UNKNOWN).any():
        return False, True, False
    if isinstance(attribute.domain, Grid) and not isinstance(attribute.domain, Categories):
        return True, True, _on_places(attribute, data, codes)
    channel = attribute.value_channel(statistics.n_classes)
    seen = np.bincount(codes, minlength=len(answers)) / codes.size
    total = max(float(answers.sum()), 1.0)
    expected = answers / total
    truth = channel.unmix(answers) / total
    # one more of each answer: one that nobody gave is as uncertain as one that a single row gave
    noise = np.maximum(channel.unmix_squares(answers + 1) / total - truth**2, 0) / total
    within = np.clip(truth, 0, 1)
    fits = _agree(seen - expected, _spread(expected, codes.size) + expected * (1 - expected) / total)
    return fits, _agree(seen - truth, _spread(within, codes.size) + noise), False


def _spread(shares: FloatArray, n_rows: int) -> FloatArray:
    """Return the variance of observed shares, with one more row of each value so that none is certain."""
    padded = (shares * n_rows + 1) / (n_rows + 1)
    return np.asarray(padded * np.maximum(1 - shares, 1 / n_rows) / n_rows)


def _agree(differences: FloatArray, variances: FloatArray) -> bool:
    """Return True if no difference is larger than chance makes the largest one once in 1,000 times (Bonferroni)."""
    most = NormalDist().inv_cdf(1 - _RARE / (2 * len(differences)))
    return bool((np.abs(differences) <= most * np.sqrt(variances)).all())


def _on_places(attribute: PublishedAttribute, data: Columns, codes: NDArray[np.int64]) -> bool:
    """Return True if all numbers are middles of the answers' cells, where true numbers are by chance only."""
    grid = attribute.answers()
    assert isinstance(grid, Grid)  # noqa: S101 - the caller has looked
    values = data.numbers(attribute.name)
    there = ~np.isnan(values)
    if there.sum() < _FEWEST:
        return False
    return bool((np.abs(values - grid.decode(codes))[there] <= 1e-6 * grid.width).all())


def _powers(attribute: PublishedAttribute, sums: PowerSums, data: Columns) -> tuple[bool, bool]:
    """Compare mean squares about the origin of the sums: noise of mean 0 leaves the mean as it is."""
    mechanism = attribute.mechanism
    assert isinstance(mechanism, TransformedResponse)  # noqa: S101 - only TRR has power sums
    values = data.numbers(attribute.name) - sums.origin
    values = values[~np.isnan(values)]
    whole = PowerSums(
        origin=sums.origin, sums=sums.sums.sum(axis=0, keepdims=True), blanks=sums.blanks.sum(keepdims=True)
    )
    total, estimate = whole.sums[0, 0], estimate_moments(score_sums(mechanism, whole))
    if values.size < _FEWEST or total < _FEWEST:
        return True, True
    square = float((values**2).mean())
    own = float((values**4).mean() - square**2) / values.size
    mean_square = whole.sums[0, 2] / total
    fits = np.array([square - mean_square]), np.array([(whole.sums[0, 4] / total - mean_square**2) / total + own])
    gap = float(estimate.mean[0]) - sums.origin
    error = float(estimate.variance_error[0]) ** 2 + (2 * gap * float(estimate.mean_error[0])) ** 2
    return _agree(*fits), _agree(np.array([square - float(estimate.variance[0]) - gap**2]), np.array([error + own]))


_BATCH_ROWS = 1 << 17
_TEXT = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t", ".csv.zst": ",", ".tsv.zst": "\t"}


@dataclass(frozen=True, kw_only=True)
class Described:
    """The description that a model gives of itself, whatever it is."""

    kind: str
    """Kind of the model, in words."""
    rows: int | None
    """Rows it was learned from, where the release publishes their number."""
    target: str
    domain: Categories
    """The classes."""
    classes: Mapping[str, Mapping[str, float | None]]
    """Share of each class, and its standard error where it is known."""
    attributes: Sequence[str]
    types: Mapping[str, pa.DataType]
    """Arrow type of each column that a text file to predict from may hold."""


def column_types(numbers: Mapping[str, bool], target: str, classes: Categories) -> dict[str, pa.DataType]:
    """Return the types of columns that are numbers or not, and of the target, a number where its classes are bins."""
    types = {name: pa.float64() if is_number else pa.string() for name, is_number in numbers.items()}
    return {**types, target: pa.float64() if isinstance(classes, NumberBins) else pa.string()}


def read_params(path: str | Path) -> dict[str, Any]:
    """Read the params of a release, after a look whether they are those of its descriptor.

    Raises
    ------
    GuaranteeError
        They were changed after the release.
    ReleaseFormatError
        They are missing or damaged.
    """
    place = Place.of(path)
    refuse_changed(place, PARAMS)
    return read_json(place.file(PARAMS))


def open_randomized(path: str | Path) -> tuple[Iterator[pa.RecordBatch], PublishedTable]:
    """Open a randomized release: its rows in batches, and what was done to them.

    Raises
    ------
    ParameterError
        The cells of the release were not randomized: it is an ordinary table.
    GuaranteeError
        A file was changed after the release.
    ReleaseFormatError
        A file is missing or damaged.
    """
    place, params = Place.of(path), read_params(path)
    refuse_changed(place, DATA)
    if params.get("format") != FORMAT:
        raise ParameterError(
            f"{place.shown(DATA)!r} was not randomized cell by cell, so there is nothing to reconstruct",
            "anonkit.consumers.ReleaseFeatures turns its cells into numbers that scikit-learn trains on"
            if "recoding" in params
            else "its rows are an ordinary table: train on them as they are",
        )
    return _batches(place), PublishedTable.from_params(params)


def _batches(place: Place) -> Iterator[pa.RecordBatch]:
    shown = place.shown(DATA)
    try:
        yield from iter_batches(place.file(DATA), batch_rows=_BATCH_ROWS)
    except FileNotFoundError:
        raise ReleaseFormatError(f"{shown!r} does not exist", "params.json alone holds no rows") from None
    except (pa.ArrowException, OSError):
        raise ReleaseFormatError(f"{shown!r} is not a readable Parquet file") from None


def read_true_table(path: str | Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Read a table of true values, CSV, TSV (also .gz, .zst) or Parquet, with the types the params declare.

    Parameters
    ----------
    path : path
    types : mapping
        Type of each column that a text file may hold.

    Raises
    ------
    SourceError
        It is not there, cannot be read, or is of another kind.
    """
    path = Path(path)
    if not path.exists():
        raise SourceError(f"{str(path)!r} does not exist")
    try:
        if path.suffix == DATA:
            return read_rows(path)
        return _read_text(path, types)
    except pa.ArrowException:
        raise SourceError(f"{str(path)!r} cannot be read as a table") from None


def in_written_form(table: Any, written: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return a table of true values with the strings of some columns read by their written form.

    Parameters
    ----------
    table : table
        Anything a model predicts from; columns of other types than strings are as they are.
    written : mapping
        `NumberForm.to_params()` by column, as in the params of a release.

    Returns
    -------
    The columns by name, 64-bit floats where they were strings; a string of another form is missing.
    """
    if not written:
        return table
    columns, read = Columns(table), {}
    for name, form in written.items():
        texts = columns.array(name) if name in columns else pa.nulls(0)
        kind = texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            plain = NumberForm.from_params(form).plain(texts.cast(pa.string()))
            read[name] = pc.if_else(plain.is_valid(), pa.array(cell_numbers(plain)), None)
    return columns.replaced(read)


def _read_text(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    kind = next((suffix for suffix in _TEXT if path.name.endswith(suffix)), None)
    if kind is None:
        raise SourceError(f"{str(path)!r} is not CSV, TSV or Parquet", f"known: {', '.join([*_TEXT, DATA])}")
    return pc_csv.read_csv(
        path,
        parse_options=pc_csv.ParseOptions(delimiter=_TEXT[kind], newlines_in_values=True),
        convert_options=pc_csv.ConvertOptions(column_types=dict(types), null_values=[""], strings_can_be_null=True),
    )
