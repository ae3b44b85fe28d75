# SPDX-License-Identifier: Apache-2.0
"""The dossier of a stored release: its files are read, its source is opened again, and no noise is drawn.

Distinct values of the quasi-identifiers in a released table, for the report and to drop columns of one value.

A recoding can make labels that no row shows, because their rows were left out. The report's values are counted in
the table. A column in which every row shows the same has no information; it is dropped, and the report states so.

Centroids of a release as its rows show them: combinations that no row shows are not published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from anonkit.bundle.bound_columns import labelled_rows
from anonkit.bundle.release_place import DATA, PARAMS, REPORT
from anonkit.bundle.stored_release import Release, refuse_changed
from anonkit.checks.shown_numbers import shown_combinations
from anonkit.checks.table_scans import combined
from anonkit.engines.engine_choice import Local
from anonkit.engines.reading.declared_tables import settled
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import GuaranteeError, ParameterError, SourceError, option
from anonkit.k_anonymity.numbers_in_groups import scale_of
from anonkit.k_anonymity.recoded_rows import as_published, released_names
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.ledger.intersection_check import SourceRows
from anonkit.pipeline.dossier import COMPARED_ROWS, Dossier, Released, make_dossier
from anonkit.pipeline.output_measures import ReleasedRows, SourceCounts, owner_measures
from anonkit.pipeline.release_space import refuse_within_release
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import encoding_named
from anonkit.promises.promise_kinds import read_promise
from anonkit.protocols import Draft, Engine, Progress, no_progress
from anonkit.randomness import Randomness
from anonkit.redaction import source_names
from anonkit.report.blocks import ReportColumn

KEY = "centroids"


def shown_centroids(recoding: Mapping[str, Any], spool: Path) -> Mapping[str, Any]:
    """Return a recoding with those centroids alone that rows of a table show, each once, in its columns.

    Where rows show the nearest centroid, all stay: without one a row would be nearest to another.

    Parameters
    ----------
    recoding : mapping
        In its form in `params.json`.
    spool : Path
        The private Parquet file, or folder, of the rows.
    """
    if KEY not in recoding:
        return recoding
    centroids = recoding[KEY]
    names = [column["name"] for column in recoding["columns"]]
    means = [column["name"] for column in recoding["columns"] if column["kind"] == "means"]
    if not means:
        return {key: value for key, value in recoding.items() if key != KEY}
    lines = list(zip(*(centroids["columns"][name] for name in names), strict=True))
    shown = set(lines) if centroids["rows"] == "nearest" else shown_combinations(spool, names, means)
    missing = {name: set(centroids.get("missing", {}).get(name, ())) for name in means}
    flags = list(zip(*([at in missing[name] for at in range(len(lines))] for name in means), strict=True))
    used = [at for at, line in enumerate(lines) if line in shown]
    used = list({(lines[at], flags[at]): at for at in reversed(used)}.values())[::-1]
    lost = {name: [new for new, old in enumerate(used) if old in missing[name]] for name in means}
    lost = {name: places for name, places in lost.items() if places}
    columns = {name: [centroids["columns"][name][at] for at in used] for name in names}
    grouped = centroids["rows"] == "grouped"
    left = {
        **{key: value for key, value in centroids.items() if key != "missing"},
        "scale": {name: list(scale_of(columns[name])) if grouped else centroids["scale"][name] for name in means},
        "columns": columns,
        **({"missing": lost} if lost else {}),
    }
    return {**recoding, KEY: left}


ONE_VALUE = "every released row shows the same value"
"""Why the report states that a column was dropped."""
_HOW_RELEASED: tuple[Literal["detail", "released_values", "values"], ...] = ("detail", "released_values", "values")
"""Keys of a column's entry that say how it was released."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Settled:
    """A draft as its written table is described, and the columns that leave it."""

    draft: Draft
    constant: tuple[str, ...]
    """Quasi-identifiers that have one value in the table."""
    schema: pa.Schema
    """Columns of the table without these."""


def as_written(draft: Draft, spool: Path, policy: Policy) -> Settled:
    """Count the values of the released quasi-identifiers, and leave out those that have one.

    A batch keeps the columns of the earlier release: whoever reads both expects the same table.

    Parameters
    ----------
    spool : Path
        The private Parquet file, or folder, of the draft's rows.

    Raises
    ------
    GuaranteeError
        No column is left to be released.
    """
    params: Mapping[str, Any] = draft.params
    recoded = set(released_names(params["recoding"]))
    names = [name for name in draft.data.schema.names if name in recoded]
    listed = [column["name"] for column in draft.columns if "values" in column and column["name"] in names]
    counts, values = _counted(spool, names, listed)
    constant = tuple(name for name in names if counts[name] == 1 and name not in draft.shown_before)
    left = [name for name in draft.data.schema.names if name not in constant]
    keys = {policy.unit, *(candidate.key for candidate in policy.candidates)}
    if not any(name not in keys for name in left):
        raise GuaranteeError(
            "no column can be released: every quasi-identifier would show one value, and there is nothing else",
            "allow more suppression, or ask for a smaller k",
        )
    columns = [_entry(column, counts, values, constant) for column in draft.columns]
    published = {**draft.published, "recoding": shown_centroids(_without(params["recoding"], constant), spool)}
    schema = pa.schema([draft.data.schema.field(name) for name in left])
    return Settled(draft=replace(draft, columns=columns, published=published), constant=constant, schema=schema)


def _counted(
    spool: Path, names: Sequence[str], listed: Sequence[str]
) -> tuple[dict[str, int], dict[str, set[str | None]]]:
    """Count the distinct values of some columns, missing among them, and list those of some."""
    with combined(spool, names) as lines:
        connection, source = lines.connection, lines.source
        different = {name: f"SELECT DISTINCT {lines.column(name)} FROM {source}" for name in names}
        values = {name: {row[0] for row in connection.execute(different[name]).fetchall()} for name in listed}
        # a query for each column: counted side by side, DuckDB holds 5 MB for each, and takes 10 ms to get them
        counts = {
            name: len(values[name])
            if name in values
            else int(connection.execute(f"SELECT count(*) FROM ({different[name]})").fetchall()[0][0])
            for name in names
        }
    return counts, values


def _entry(
    entry: ReportColumn, counts: Mapping[str, int], values: Mapping[str, set[str | None]], constant: Sequence[str]
) -> ReportColumn:
    """Return the entry of a column in the report."""
    name = entry["name"]
    if name in constant:
        dropped: ReportColumn = {**entry, "action": "dropped", "reason": ONE_VALUE}
        for key in _HOW_RELEASED:
            dropped.pop(key, None)
        return dropped
    if name not in counts:
        return entry
    out: ReportColumn = {**entry, "released_values": counts[name]}
    if name in values:
        out["values"] = [value for value in entry["values"] if value in values[name]]
    return out


def _without(recoding: Mapping[str, Any], constant: Sequence[str]) -> Mapping[str, Any]:
    """Return a recoding column by column without some; the splits of a local one need all their axes."""
    if recoding["kind"] != "global":
        return recoding
    return {**recoding, "columns": [column for column in recoding["columns"] if column["name"] not in constant]}


DOSSIER_STEPS = (
    "comparing files with their hashes",
    "reading the source",
    "measuring the release beside the source",
    "comparing columns",
)
"""Names of the steps of the dossier of a stored release, in order, as progress shows them."""


def stored_dossier(
    release: Release,
    original: object,
    *,
    policy: Policy | None = None,
    examples: int = 0,
    audit: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> Dossier:
    """Measure the source of a stored release beside it.

    Parameters
    ----------
    release : Release
        As `anonkit.load` gives it; its files are compared with the hashes of its descriptor first.
    original : path or table
        What it was made from.
    policy : Policy, optional
        What its owner declared; by default `source_policy` of the release. The roles are those of the report in any
        case.
    examples : int
        Rows shown before and after, 0 or more.
    audit : mapping, optional
        What `anonkit audit` found (`Audit.to_dict`).
    progress : callable
        Called with each of `DOSSIER_STEPS` as it begins.

    Raises
    ------
    GuaranteeError
        A file of the release was changed.
    ParameterError
        The release is in memory: its files are not there to be decided on.
    SourceError, PolicyError
        The table cannot be read, or is not what the release was made from.

    Privacy
    -------
    As `Dossier`: nothing is drawn for the release, no budget is charged, and nothing of it is published.
    """
    if release.place is None:
        raise ParameterError("a release in memory has no files to decide on", "name an output when releasing")
    progress(DOSSIER_STEPS[0], 0.0)
    refuse_changed(release.place, DATA, PARAMS, REPORT)
    progress(DOSSIER_STEPS[1], 0.0)
    declared = source_policy(release, policy)
    with Local().opened() as reading, snapshot(original) as stays:
        table = stays.scan(reading, declared)
        resolved = _with_roles(release, declared, table.schema.names)
        rows = SourceRows(table=table, engine=reading, policy=resolved)
        names = source_names(original)[1]
        return measured_dossier(release, rows, source_table=names, examples=examples, audit=audit, progress=progress)


def measured_dossier(
    release: Release,
    rows: SourceRows,
    *,
    source_table: str,
    examples: int = 0,
    audit: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> Dossier:
    """Measure a source that is open beside a release whose files were looked at.

    Parameters
    ----------
    release : Release
    rows : SourceRows
        The source as it was read, with a policy that has a role for every column.
    source_table : str
        What the source is called.
    examples, audit, progress
        As for `stored_dossier`.
    """
    progress(DOSSIER_STEPS[2], 0.0)
    randomness = Randomness.secure()
    promise, released_rows = read_promise(release.report["guarantee"]), labelled_rows(release)
    sampling = randomness if _states_its_rows(release) else None
    with Local().opened() as reading:
        table = settled(rows.table, rows.policy, rows.engine)
        released = _released(release, released_rows, reading)
        counts = SourceCounts.of(promise, table, rows.engine, rows.policy, sampling)
        measured = owner_measures(promise, table, rows.engine, rows.policy, released, counts)
    progress(DOSSIER_STEPS[3], 0.0)
    if released_rows.num_rows > COMPARED_ROWS:
        released_rows = released_rows.take(randomness.child("held").permutation(released_rows.num_rows)[:COMPARED_ROWS])
    return make_dossier(
        Released(
            report=release.report,
            params=release.params,
            table=released_rows,
            name=None if release.place is None else release.place.stem,
        ),
        rows,
        {
            "method": release.report["method"]["name"],
            **measured,
            **({} if audit is None else {"audit": dict(audit)}),
        },
        source_table=source_table,
        examples=examples,
        randomness=randomness,
    )


def write_stored_dossier(dossier: Dossier, release: Release, folder: Path) -> tuple[Path, Path]:
    """Write the dossier of a stored release; return the paths of the owner report and of the page.

    Raises
    ------
    ParameterError
        The folder is one that is handed out with the release.
    EngineError
        It cannot be written.
    """
    if release.place is None:
        return dossier.write(folder, None)
    refuse_within_release(folder, release.place)
    return dossier.write(folder, release.place.data_digest())


def source_policy(release: Release, policy: Policy | None, encoding: str | None = None) -> Policy:
    """Return the reading of a stored release's source: as declared, else as the release itself states.

    Without a declaration the domains are those of the release, cells that mean missing are empty ones unless the
    release states otherwise, and nobody is named who may receive it.

    Parameters
    ----------
    release : Release
    policy : Policy, optional
        What its owner declared.
    encoding : str, optional
        Of a text file, on top of the policy.
    """
    found = _declared(release, policy)
    return found if encoding is None else replace(found, encoding=encoding_named(encoding))


def _declared(release: Release, policy: Policy | None) -> Policy:
    """Return the declaration of the source."""
    if policy is not None:
        return policy
    if "recoding" in release.params:
        return Recoded.from_params(release.params).policy()
    columns = {}
    for name, domain in _domains(release.params).items():
        bounds, categories = domain.get("bounds"), domain.get("categories")
        if bounds is not None:
            columns[name] = Column(name=name, bounds=(float(bounds[0]), float(bounds[1])))
        elif categories is not None:
            columns[name] = Column(name=name, categories=tuple(map(str, categories)))
    return Policy(columns=columns)


def _released(release: Release, released_rows: pa.Table, reading: Engine) -> ReleasedRows | None:
    """Return the rows of a release that has equivalence classes; its unit column is gone, so rows are counted."""
    recoding = release.params.get("recoding")
    if recoding is None:
        return None
    names = [name for name in released_names(recoding) if name in released_rows.column_names]
    rows = reading.hold(released_rows)
    return ReleasedRows(
        rows=rows, files=reading, applied=as_published(recoding), names=names, shown=names, params=release.params
    )


def _states_its_rows(release: Release) -> bool:
    """Return True if the files state which rows of the source were released, for models to be trained on them.

    They do not where a column of one value is hidden, since rows may have been left out for another value in it, and
    where classes were merged, or rows grouped by their numbers, since which ones is not published.
    """
    recoding = release.params.get("recoding", {})
    hides = any(column.get("reason") == ONE_VALUE for column in release.report["columns"])
    grouped = recoding.get("centroids", {}).get("rows") == "grouped"
    return not hides and not grouped and not recoding.get("merged", False)


def _domains(params: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the public domains that the params of a release with noise state, by column."""
    described = [params.get("target"), *params.get("attributes", ()), *params.get("columns", ())]
    return {
        str(entry["name"]): entry["domain"]
        for entry in described
        if isinstance(entry, Mapping) and isinstance(entry.get("domain"), Mapping) and "name" in entry
    }


def _with_roles(release: Release, declared: Policy, names: Sequence[str]) -> Policy:
    """Return the policy with the roles of the release for the columns of a table, in table order.

    Raises
    ------
    SourceError
        The table lacks a column of the source, or has one that the release does not know.
    """
    reported = {column["name"]: column for column in release.report["columns"]}
    strange = next((name for name in names if name not in reported), None)
    if strange is not None:
        raise SourceError(
            f"this is not the table of the release, which knows no column {strange!r}", option("original", "IN")
        )
    added = release.params.get("asked_column")  # made for the release
    needed = [name for name, column in reported.items() if column["role"] != Role.IDENTIFIER and name != added]
    absent = next((name for name in needed if name not in names), None)
    if absent is not None:
        raise SourceError(f"this is not the table of the release, it lacks column {absent!r}", option("original", "IN"))
    columns = {
        name: replace(
            declared.column(name),
            role=Role(reported[name]["role"]),
            role_given=True,
            sensitive=bool(reported[name].get("sensitive")) and reported[name]["role"] == Role.TARGET,
        )
        for name in names
    }
    return replace(declared, columns=columns, optional=frozenset())
