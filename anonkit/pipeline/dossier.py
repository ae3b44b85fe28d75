# SPDX-License-Identifier: Apache-2.0
"""The dossier of a release: the source measured beside it, written as JSON and as a page for the owner alone.

Raw risk: what an attacker could do with the source table as it is, counted on its own quasi-identifiers.

Changes of every two columns between a source and rows drawn from a model: their dependence before and after.

For the owner's page. Each row of such a release is nobody's, so that both tables are compared as tables: values
that occur (the commonest `MOST_VALUES`, all others as one), numbers in the ranges of released numbers.

Files for the owner alone: JSON and pages under the banner, in a folder that is not handed out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit import __version__
from anonkit.bundle.atomic import Staging, reason_of
from anonkit.bundle.json_documents import to_json
from anonkit.checks.disclosure import Disclosure
from anonkit.engines.reading.declared_tables import settled
from anonkit.errors import EngineError
from anonkit.ledger.intersection_check import SourceRows
from anonkit.pipeline.source_and_release import (
    BeforeAndAfter,
    example_rows,
    filled_numbers,
    is_number,
    is_text,
    parsed_numbers,
    plain_cells,
    round_edges,
    whole_column,
)
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import settling
from anonkit.protocols import Engine, Source
from anonkit.randomness import Randomness
from anonkit.report.document import build_owner_report
from anonkit.report.dossier_page import render_dossier


def source_risk(table: Source, engine: Engine, policy: Policy, threshold: float) -> dict[str, Any]:
    """Return the disclosure risk of a source in the terms of the report's `disclosure_risk`.

    Parameters
    ----------
    table : Source
        With settled cells: units are the keys by which people are distinguished.
    policy : Policy
        With a role for every column; with a unit column people are counted.
    threshold : float
        Risk above which a record counts as at risk, in (0, 1).

    Returns
    -------
    dict
        `quasi_identifiers`, `rows`, `classes`, `k`, `uniques`, `counted`, and `prosecutor`, `journalist`, `marketer`
        as the report has them; empty where no column is a quasi-identifier.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner.
    """
    names, unit = list(policy.quasi_identifiers), policy.unit
    if not names:
        return {}
    sizes = engine.class_sizes(table, names, 2, unit)
    counted = Disclosure(
        rows=sizes.rows,
        classes=sizes.classes,
        k=sizes.smallest,
        people=sizes.smallest if unit is not None else None,
        class_sizes=sizes.histogram,
        people_sizes=None if unit is None else sizes.histogram,
    )
    figures = counted.to_dict(threshold)
    return {
        "quasi_identifiers": names,
        "rows": table.n_rows,
        "k": sizes.smallest,
        **{key: figures[key] for key in ("classes", "uniques", "counted", "prosecutor", "journalist", "marketer")},
    }


MOST_VALUES = 20
"""Values of a column at most; the rarer ones are one more."""
MOST_COLUMNS = 40
"""Columns that are compared: 780 pairs. Of a wider table the first."""
HOW = (
    f"every two columns, the commonest {MOST_VALUES} values of each and all others as one, numbers in ranges, one for "
    "each released number where these are few; total variation distance, in [0, 1]"
)
_SYNTHESIZED = "synthesized"
_Codes = NDArray[np.int64]
_FloatArray = NDArray[np.float64]


class _Coded(NamedTuple):
    cells: tuple[_Codes, _Codes]
    """Of the source and of the release."""
    values: int


def pair_changes(source: pa.Table, released: pa.Table, columns: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Compare the joint distribution of every two columns, and how far each is from that of independent columns.

    Parameters
    ----------
    source : Table
        Cells as the policy declares them.
    released : Table
        Drawn rows of the same columns.
    columns : sequence of mapping
        The `columns` block of the report.

    Returns
    -------
    dict or None
        `columns`; `pairs`, one entry each: `columns` (places in the list), `distance` of the two tables, and
        `dependence`: the distance of the columns' joint distribution from the product of their own, `before` and
        `after`; `mean_distance`, `by_chance` (what two tables of these sizes that were drawn from one distribution
        would differ by on average), `mean_dependence` and `how`. None unless two columns at least are drawn from a
        model, and there are rows.

    Privacy
    -------
    Computed from the source: the owner's.
    """
    names = [
        column["name"]
        for column in columns
        if column["action"] == _SYNTHESIZED
        and column["role"] not in (Role.IDENTIFIER, Role.UNIT)
        and {column["name"]} <= {*source.column_names} & {*released.column_names}
    ][:MOST_COLUMNS]
    if len(names) < 2 or not source.num_rows or not released.num_rows:
        return None
    coded = [_codes(whole_column(source, name), whole_column(released, name)) for name in names]
    found: list[dict[str, Any]] = []
    chance: list[float] = []
    for one, other in combinations(range(len(names)), 2):
        before, after = (_joint(coded[one], coded[other], side) for side in (0, 1))
        chance.append(_by_chance(before, source.num_rows, released.num_rows))
        found.append(
            {
                "columns": [one, other],
                "distance": _rounded(_distance(before, after)),
                "dependence": {"before": _rounded(_dependence(before)), "after": _rounded(_dependence(after))},
            }
        )
    return {
        "columns": names,
        "pairs": found,
        "mean_distance": _rounded(_mean(pair["distance"] for pair in found)),
        "by_chance": _rounded(_mean(chance)),
        "mean_dependence": {
            side: _rounded(_mean(pair["dependence"][side] for pair in found)) for side in ("before", "after")
        },
        "how": HOW,
    }


def _codes(before: pa.Array, after: pa.Array) -> _Coded:
    """Return the cells of a column in both tables as codes of one list of values."""
    if is_text(before) and is_number(after):
        before = parsed_numbers(before)
    if is_number(before) and is_number(after):
        edges = _edges(filled_numbers(before), np.unique(filled_numbers(after)))
        first, second = (_ranges(side, edges) for side in (before, after))
        return _Coded((first, second), edges.size + 2)
    texts = [pc.cast(plain_cells(side), pa.string()) for side in (before, after)]
    counted = sorted(
        pc.value_counts(texts[0].drop_null()).to_pylist(), key=lambda entry: (-entry["counts"], entry["values"])
    )
    shown = pa.array([entry["values"] for entry in counted[:MOST_VALUES]], pa.string())
    first, second = (_places(side, shown) for side in texts)
    return _Coded((first, second), len(shown) + 2)


def _edges(numbers: _FloatArray, shown: _FloatArray) -> _FloatArray:
    """Return the cuts between the numbers of a column: halfway between released ones, each of which means a range.

    Where more are released than values are compared, round numbers do.
    """
    if 0 < shown.size <= MOST_VALUES:
        return np.asarray((shown[1:] + shown[:-1]) / 2)
    return round_edges(numbers, whole=not numbers.size or bool((numbers == np.round(numbers)).all()))


def _ranges(side: pa.Array, edges: _FloatArray) -> _Codes:
    """Return the range of each number; a cell without one has the last code."""
    there = side.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(side.type):
        there &= np.isfinite(side.fill_null(math.nan).to_numpy(zero_copy_only=False))
    codes = np.full(len(side), edges.size + 1, dtype=np.int64)
    codes[there] = np.searchsorted(edges, filled_numbers(side), side="right")
    return codes


def _places(side: pa.Array, shown: pa.Array) -> _Codes:
    """Return the index of each string among those shown; then the others, and last the missing cells."""
    places = (
        pc.fill_null(pc.index_in(side, value_set=shown), len(shown)).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    places[side.is_null().to_numpy(zero_copy_only=False)] = len(shown) + 1
    return np.asarray(places, dtype=np.int64)


def _joint(one: _Coded, other: _Coded, side: int) -> _FloatArray:
    shape = one.values, other.values
    counts = np.bincount(
        np.ravel_multi_index((one.cells[side], other.cells[side]), shape), minlength=shape[0] * shape[1]
    )
    return np.asarray(counts.reshape(shape) / one.cells[side].size, dtype=np.float64)


def _distance(one: _FloatArray, other: _FloatArray) -> float:
    return float(np.abs(one - other).sum() / 2)


def _dependence(joint: _FloatArray) -> float:
    return _distance(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)))


def _by_chance(shares: _FloatArray, first: int, second: int) -> float:
    """Return the mean distance of two samples of one distribution: each cell's by the normal approximation."""
    return float(np.sqrt(shares * (1 - shares) * (1 / first + 1 / second)).sum() / math.sqrt(2 * math.pi))


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def _rounded(value: float) -> float:
    return round(value, 4)


OWNER_REPORT = "owner.report.json"
_DOSSIER = ".dossier.html"


def dossier_name(stem: str | None) -> str:
    """Return the name of the dossier of a release; None for a release in memory."""
    return f"{stem or 'release'}{_DOSSIER}"


def is_dossier_of(data_sha256: str, folder: Path, stem: str) -> bool:
    """Return True if the dossier of a release is in a folder, recognized by the SHA-256 of its data."""
    try:
        owner = json.loads((folder / OWNER_REPORT).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    is_same = isinstance(owner, dict) and owner.get("data_sha256") == data_sha256
    return is_same and (folder / dossier_name(stem)).is_file()


def write_owner_document(folder: Path, name: str, measures: Mapping[str, Any]) -> Path:
    """Write measures of the source under the banner, in a file that its owner alone may read.

    Parameters
    ----------
    folder, name
        As for `write_private`.

    Raises
    ------
    EngineError
        It cannot be written.
    """
    write_private(folder, {name: to_json(build_owner_report(__version__, measures))})
    return folder / name


def write_private(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files that their owner alone may read, together or not at all.

    Parameters
    ----------
    folder : Path
        Made when it is not there, for its owner alone.
    files : mapping
        Content by name; a file that is there is replaced, whoever could read it.

    Raises
    ------
    EngineError
        They cannot be written.
    """
    first, *others = files
    stem = "" if others else first  # what was interrupted may touch files alone that begin so
    try:
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True)
        staging = Staging(folder, stem)
    except OSError as error:
        raise EngineError(f"cannot write to {str(folder)!r}: {reason_of(error)}") from None
    try:
        for name, content in files.items():
            aside = staging.folder / name
            aside.touch(mode=0o600)
            aside.write_bytes(content)
        staging.commit(list(files))
    except OSError as error:
        raise EngineError(f"cannot write to {str(folder)!r}: {reason_of(error)}") from None
    finally:
        staging.discard()


COMPARED_ROWS = 200_000
"""Rows of either table whose distributions are compared; of a larger one so many are drawn."""
_THRESHOLD = 0.2
"""Risk above which a record counts as at risk, as in the report."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dossier:
    """The owner's dossier of a release, measured and ready to be written.

    Privacy
    -------
    Covered by no promise, and with example rows it holds cells of the source: for the owner alone.
    """

    report: Mapping[str, Any]
    """Content of the release's `report.json`."""
    figures: Mapping[str, Any]
    """Content of the owner report beside the banner."""
    name: str | None
    """Prefix of all files of the release; None for a release in memory."""
    examples: Mapping[str, Any] | None = field(default=None, repr=False)

    def write(self, folder: Path, data_sha256: str | None) -> tuple[Path, Path]:
        """Write the owner report and the page, readable by their owner alone; return their paths.

        Parameters
        ----------
        folder : Path
            Made when it is not there, for its owner alone.
        data_sha256 : str, optional
            Of the data file that is decided on.

        Raises
        ------
        EngineError
            They cannot be written; neither is there then.
        """
        digest = {} if data_sha256 is None else {"data_sha256": data_sha256}
        owner = build_owner_report(__version__, {**self.figures, **digest})
        page = render_dossier(self.report, owner, name=self.name, examples=self.examples)
        names = OWNER_REPORT, dossier_name(self.name)
        write_private(folder, {names[0]: to_json(owner), names[1]: page.encode()})
        return folder / names[0], folder / names[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """A release as the dossier looks at it: what its files state, and its rows."""

    report: Mapping[str, Any]
    params: Mapping[str, Any]
    table: pa.Table
    """Its rows, or `COMPARED_ROWS` of them."""
    name: str | None
    """Prefix of all its files; None in memory."""


def make_dossier(
    released: Released,
    rows: SourceRows,
    figures: Mapping[str, Any],
    *,
    source_table: str,
    examples: int = 0,
    randomness: Randomness,
) -> Dossier:
    """Measure a source beside its release.

    Parameters
    ----------
    released : Released
    rows : SourceRows
        The source as it was read, with a policy that has a role for every column.
    figures : mapping
        What was measured on the source already: `Release.owner`, an `audit`.
    source_table : str
        What the source is called.
    examples : int
        Rows shown before and after, 0 or more.
    randomness : Randomness
        Draws rows where a table is too large, and the examples.

    Privacy
    -------
    Nothing of the result belongs into a file of the release.
    """
    source = rows_in_memory(rows.table, rows.engine, randomness.child("dossier"))
    policy = replace(rows.policy, cell_by_cell=False)
    settle = settling(source.schema, policy)
    if settle is not None:
        source = pa.Table.from_batches([settle(batch, 0) for batch in source.to_batches()], schema=settle.schema)
    compared = BeforeAndAfter(source=source, released=released.table, params=released.params, policy=policy)
    n_compared = {} if rows.table.n_rows <= COMPARED_ROWS else {"rows_compared": COMPARED_ROWS}
    pairs = pair_changes(source, released.table, released.report["columns"])
    return Dossier(
        report=released.report,
        name=released.name,
        figures={
            **figures,
            "source_table": source_table,
            "raw_risk": source_risk(settled(rows.table, policy, rows.engine), rows.engine, policy, _THRESHOLD),
            "column_changes": compared.changes(released.report["columns"]),
            **({} if pairs is None else {"pair_changes": pairs}),
            **n_compared,
            "publication": policy.publication.to_dict(),
        },
        examples=example_rows(rows, released.table, released.params, randomness.child("examples"), examples)
        if examples
        else None,
    )


def rows_in_memory(table: Source, engine: Engine, randomness: Randomness) -> pa.Table:
    """Return the rows of a table, or `COMPARED_ROWS` of them, in memory."""
    sample = engine.sample(table, COMPARED_ROWS, randomness)
    return pa.Table.from_batches(sample.batches(), schema=table.schema)
