# SPDX-License-Identifier: Apache-2.0
"""The dossier of a release: the source measured beside it, written as JSON and as a page for the owner alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit import __version__
from anonkit.bundle.json_documents import to_json
from anonkit.engines.reading.settled_tables import settled
from anonkit.ledger.source_rows import SourceRows
from anonkit.pipeline.column_changes import BeforeAndAfter
from anonkit.pipeline.example_rows import example_rows
from anonkit.pipeline.owner_files import OWNER_REPORT, dossier_name, write_private
from anonkit.pipeline.pair_changes import pair_changes
from anonkit.pipeline.source_risk import source_risk
from anonkit.policy.declared_cells import settling
from anonkit.protocols import Engine, Source
from anonkit.randomness import Randomness
from anonkit.report.document import build_owner_report
from anonkit.report.dossier_page import render_dossier

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
    source = held_rows(rows.table, rows.engine, randomness.child("dossier"))
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


def held_rows(table: Source, engine: Engine, randomness: Randomness) -> pa.Table:
    """Return the rows of a table, or `COMPARED_ROWS` of them, in memory."""
    drawn = engine.sample(table, COMPARED_ROWS, randomness)
    return pa.Table.from_batches(drawn.batches(), schema=table.schema)
