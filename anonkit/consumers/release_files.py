# SPDX-License-Identifier: Apache-2.0
"""Files a receiver opens: a randomized release with its params, and tables of true values to predict from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from anonkit.bundle.data_files import iter_batches, read_rows
from anonkit.bundle.json_documents import read_json
from anonkit.bundle.release_hashes import refuse_changed
from anonkit.bundle.release_names import DATA, PARAMS
from anonkit.bundle.release_place import Place
from anonkit.consumers.columns import Columns
from anonkit.domains.attribute_domains import Categories
from anonkit.domains.cell_keys import cell_numbers
from anonkit.domains.number_bins import NumberBins
from anonkit.domains.written_numbers import NumberForm
from anonkit.errors import ParameterError, ReleaseFormatError, SourceError
from anonkit.published.randomized_table import FORMAT, PublishedTable

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
