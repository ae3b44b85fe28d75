# SPDX-License-Identifier: Apache-2.0
"""The kinds of jobs of the desk: each takes an order of plain values and returns plain values.

Each is a call that a command makes too. Workers alone import this module.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import anonkit
from anonkit.bundle.atomic import reason_of
from anonkit.comparing.comparison import Comparison, compare
from anonkit.comparing.foreseen_release import foreseen_release
from anonkit.datasets.simulated_rows import declared_rows
from anonkit.desk.decided_release import ATTACKED, COMPARED_ROWS, SIMULATED
from anonkit.desk.session_files import check_policy
from anonkit.drafting.profiling import ValueKind, profile_columns
from anonkit.engines import open_engine
from anonkit.engines.reading.declared_tables import declared_table, settled
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import EngineError
from anonkit.ledger.intersection_check import SourceRows
from anonkit.pipeline.recipe import Recipe
from anonkit.pipeline.source_and_release import BeforeAndAfter, example_rows
from anonkit.policy.column_declarations import Outside, Role
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.randomness import Randomness

SHOWN_ROWS = 100_000
"""Rows whose distributions are shown; of a larger table so many are drawn."""
SIMULATED_ROWS = 4_000
EXAMPLES = 10
_BARS = 8
_BINS = 12
_COUNTED = 500
"""Values of a column at most whose rows are counted for its hierarchy."""
_LONGEST = 60
"""Letters of a value that are shown."""


@dataclass(frozen=True, kw_only=True)
class ProgressChannel:
    """The channel by which a job reports its progress."""

    send: Callable[[tuple[str, Any]], None]

    def progress(self, step: str, share: float) -> None:
        """Report the step that is done, and the share of it."""
        self.send(("progress", (step, float(share))))

    def part(self, value: Any) -> None:
        """Send a result that is not the last."""
        self.send(("part", value))


def _policy(order: Mapping[str, Any]) -> Policy:
    return check_policy(order["policy"], Path(order["folder"]))


def _source(order: Mapping[str, Any]) -> object:
    """Return the table of the desk, with the options that say how it is read."""
    return source_at(order["source"], **order["how"])


def names_of(order: Mapping[str, Any], channel: ProgressChannel) -> list[str]:
    """Return the names of the columns, and nothing else of the table."""
    with closing(open_engine("local")) as engine, snapshot(_source(order)) as stays:
        return list(stays.scan(engine, replace(Policy(), cell_by_cell=True)).schema.names)


def drafted(order: Mapping[str, Any], channel: ProgressChannel) -> str:
    """Return a policy that is drafted from the table, as `anonkit init` drafts it."""
    return anonkit.draft_policy(order["source"], progress=channel.progress, **order["how"])


# --- table -----------------------------------------------------------------------------------------------------------


def columns_of(order: Mapping[str, Any], channel: ProgressChannel) -> list[dict[str, Any]]:
    """Return kinds, missing cells and distributions of every column: of the table, or of simulated rows."""
    policy = _policy(order)
    if order["simulated"]:
        rows = declared_rows(policy, order["names"], SIMULATED_ROWS)
        return _described(rows, policy, channel)
    return _described(_source(order), policy, channel)


def _described(data: object, policy: Policy, channel: ProgressChannel) -> list[dict[str, Any]]:
    with closing(open_engine("local")) as engine, snapshot(data) as stays:
        opened = stays.scan(engine, policy)
        profiles = profile_columns(engine, opened, channel.progress)
        looked = opened
        if opened.n_rows > SHOWN_ROWS:
            looked = engine.sample(opened, SHOWN_ROWS, Randomness.seeded(0).child("shown"))
        bars_of_dates = _bars_of_dates(engine, looked, policy)
        found = []
        for at, profile in enumerate(profiles):
            channel.progress("looking at columns", at / len(profiles))
            hidden = policy.column(profile.name).role in (Role.IDENTIFIER, Role.UNIT, Role.HOUSEHOLD)
            shown = {"bars": [], "counts": []} if hidden else _distribution(engine, looked, profile.name)
            if is_dated := profile.name in bars_of_dates and not hidden:
                shown["bars"] = bars_of_dates[profile.name]
            found.append(
                {
                    "name": profile.name,
                    "kind": str((ValueKind.TIME if is_dated else profile.kind).value),
                    "rows": opened.n_rows,
                    "missing": opened.n_rows - profile.filled,
                    "distinct": profile.distinct,
                    "identifier": profile.identifier_reason,
                    "nearly_unique": profile.nearly_unique,
                    **shown,
                }
            )
            channel.part(found[-1])
        return found


def _bars_of_dates(engine: Engine, rows: Source, policy: Policy) -> dict[str, list[tuple[str, float]]]:
    """Return the bars of each column of strings that the policy declares to be dates or moments, read as such.

    A cell that is none as it is declared is missing there.
    """
    texts = {
        field.name: replace(column, outside=Outside.MISSING)
        for field in rows.schema
        if pa.types.is_string(field.type) and (column := policy.column(field.name)).calendar is not None
    }
    if not texts:
        return {}
    schema = pa.schema([(name, pa.string()) for name in texts])
    read = settled(engine.hold(pa.Table.from_batches(rows.batches(list(texts)), schema)), Policy(columns=texts), engine)
    dates = [field.name for field in read.schema if pa.types.is_temporal(field.type)]
    return {name: _distribution(engine, read, name)["bars"] for name in dates}


def _distribution(engine: Engine, rows: Source, name: str) -> dict[str, Any]:
    """Return labels and shares of rows for a chart, and the rows of every value where there are not too many."""
    (column,) = engine.encode(rows, [name])
    counts = np.bincount(column.codes, minlength=column.size)
    total = max(int(counts.sum()), 1)
    values = [(value, int(n)) for value, n in zip(column.values, counts, strict=True) if value is not None]
    few = [] if len(values) > _COUNTED else [(value if _is_number(value) else str(value), n) for value, n in values]
    if column.ordered and len(values) > _BINS:
        return {
            "bars": _ranges(
                [
                    (float(value.toordinal() if isinstance(value, date) else value), n)
                    for value, n in values
                    if isinstance(value, int | float | date)
                ],
                total,
                dated=any(isinstance(value, date) for value, _ in values),
            ),
            "counts": few,
        }
    if not column.ordered:
        values.sort(key=lambda pair: -pair[1])
    bars = [(_short(value), n / total) for value, n in values[:_BARS]]
    rest = sum(n for _, n in values[_BARS:])
    bars += [(f"{len(values) - _BARS:,} other values", rest / total)] if rest else []
    return {"bars": bars, "counts": few}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ranges(values: Sequence[tuple[float, int]], total: int, *, dated: bool) -> list[tuple[str, float]]:
    """Return ranges of numbers, or of dates that are given as their days since the year 1."""
    if not values:
        return []
    at, weights = np.array([value for value, _ in values]), np.array([n for _, n in values])
    whole = bool((at == np.floor(at)).all())
    ends: Any = _BINS
    if whole:  # ranges of whole numbers begin and end at whole numbers, and none has more of them than another
        width = max(int(np.ceil((at.max() - at.min() + 1) / _BINS)), 1)
        ends = at.min() + width * np.arange(np.ceil((at.max() - at.min() + 1) / width) + 1)
    heights, ends = np.histogram(at, bins=ends, weights=weights)
    digits = 0 if whole or ends[-1] - ends[0] >= 10 * _BINS else 2

    def shown(end: float) -> str:
        return date.fromordinal(min(int(end), date.max.toordinal())).isoformat() if dated else f"{end:,.{digits}f}"

    return [
        (shown(low) if whole and high - low == 1 else f"{shown(low)} to {shown(high - whole)}", float(n) / total)
        for n, low, high in zip(heights, ends[:-1], ends[1:], strict=True)
    ]


def _short(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def risk_of(order: Mapping[str, Any], channel: ProgressChannel) -> dict[str, Any]:
    """Return the columns that make people unique, as `anonkit risk` finds it; the classes by all columns first."""
    found = anonkit.risk(
        order["source"],
        policy=_policy(order),
        population=order["population"],
        sampling_fraction=None if order["population"] else order["sample"],
        progress=channel.progress,
        seen=lambda counts: channel.part(asdict(counts)),
        **order["how"],
    )
    beside = {"classes": found.classes, "people": found.people, "counted": found.counted, "rows": found.rows}
    return {**found.to_dict(), **beside}


# --- compare ---------------------------------------------------------------------------------------------------------


def compared(order: Mapping[str, Any], channel: ProgressChannel) -> dict[str, Any]:
    """Return several releases of a sample by risk and usefulness; each is sent as soon as it is there.

    Under noise, and while that is open, the rows are simulated from the declared domains.
    """
    policy = _policy(order)
    public = _simulated(order, policy) if order["simulated"] else None
    found: Comparison = compare(
        order["source"],
        policy=policy,
        methods=order["methods"],
        k=order["k"],
        epsilon=order["epsilon"],
        public=public,
        rows=COMPARED_ROWS,
        attacks=ATTACKED,
        progress=channel.progress,
        seen=lambda point: channel.part(_plain({**point.to_dict(), "left_out": point.left_out})),
        **({} if order["simulated"] else order["how"]),
    )
    return _plain(found.to_dict())


def _simulated(order: Mapping[str, Any], policy: Policy) -> Path:
    """Write the simulated rows of a comparison, by which its command makes it again; return their file."""
    file = Path(order["folder"]) / SIMULATED
    aside = file.with_name(f".{SIMULATED}.{os.getpid()}")
    try:
        pq.write_table(declared_rows(policy, order["names"], COMPARED_ROWS), aside)
        aside.replace(file)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise EngineError(f"cannot write {str(file)!r}: {reason_of(error)}") from None
    return file


def side_by_side(order: Mapping[str, Any], channel: ProgressChannel) -> dict[str, Any]:
    """Return every column, and ten rows, as two releases of one sample show them."""
    policy = _policy(order)
    with closing(open_engine("local")) as engine, snapshot(_compared_rows(order, policy)) as stays:
        rows = engine.sample(stays.scan(engine, policy), COMPARED_ROWS, Randomness.seeded(0).child("compared"))
        resolved = policy.resolve(rows.schema.names) if policy.target else _without_target(policy, rows)
        sample = pa.Table.from_batches(rows.batches(), schema=rows.schema)
        settled, _ = declared_table(rows, resolved, engine)
        before = pa.Table.from_batches(settled.batches(), schema=settled.schema)
        source = SourceRows(table=engine.hold(sample), engine=engine, policy=resolved)
        both = []
        for at, candidate in enumerate(order["candidates"]):
            channel.progress(f"{candidate['method']}", at / 2)
            release = anonkit.release(
                sample, method=candidate["method"], policy=policy, ledger=None, utility=False, **candidate["parameters"]
            )
            compared_ = BeforeAndAfter(
                source=before, released=release.to_arrow(), params=release.params, policy=resolved
            )
            examples = None
            if not order["simulated"]:
                randomness = Randomness.seeded(1)
                examples = example_rows(source, release.to_arrow(), release.params, randomness, EXAMPLES)
            both.append(
                {
                    "label": candidate["label"],
                    "rows": release.report["rows"],
                    "columns": release.report["columns"],
                    "changes": compared_.changes(release.report["columns"]),
                    "examples": examples,
                    "left_out": release.owner.get("rows_left_out"),
                }
            )
        return _plain({"rows": before.num_rows, "candidates": both})


def _compared_rows(order: Mapping[str, Any], policy: Policy) -> object:
    if order["simulated"]:
        return source_at(declared_rows(policy, order["names"], COMPARED_ROWS))
    return _source(order)


def _without_target(policy: Policy, rows: Source) -> Policy:
    from anonkit.policy.declaration import TargetUse

    return policy.resolve(rows.schema.names, target_use=TargetUse.AS_DECLARED)


# --- decide ----------------------------------------------------------------------------------------------------------


def rehearsed(order: Mapping[str, Any], channel: ProgressChannel) -> dict[str, Any]:
    """Return the planned release, as `anonkit run --dry-run` finds it; nothing is written, nothing charged.

    Under noise nothing of the table is read for it but its names: the release of simulated rows is foreseen.
    """
    recipe = Recipe.load(Path(order["folder"]) / "recipe.toml")
    noise = order["noise"]
    release = recipe.run(
        dry_run=True,
        force=True,
        for_owner=not noise,
        foresees=partial(foreseen_release, utility=True),
        account=None,
        seed=order["seed"],
        progress=channel.progress,
    )
    return _plain({"report": release.report, "owner": {} if noise else dict(release.owner)})


def written(order: Mapping[str, Any], channel: ProgressChannel) -> dict[str, Any]:
    """Make the release, as `anonkit run` makes it, with the dossier for the owner; return the names of its files."""
    folder = Path(order["folder"])
    recipe = Recipe.load(folder / "recipe.toml")
    release = recipe.run(
        sign=order["sign"],
        force=order["force"],
        owner_report=folder / order["private"],
        examples=EXAMPLES,
        seed=order["seed"],
        progress=channel.progress,
    )
    assert release.place is not None  # noqa: S101 - a recipe has an output
    files = {role: str(path) for role, path in release.place.shown_files().items()}
    return _plain({"report": release.report, "files": files, "reused": release.reused})


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document as JSON has it: what a worker sends holds nothing but strings, numbers and lists of them."""
    from anonkit.bundle.json_documents import to_json

    plain: dict[str, Any] = json.loads(to_json(value))
    return plain


KINDS: Mapping[str, Callable[[Mapping[str, Any], ProgressChannel], Any]] = {
    "names": names_of,
    "draft": drafted,
    "columns": columns_of,
    "risk": risk_of,
    "compare": compared,
    "sides": side_by_side,
    "rehearse": rehearsed,
    "write": written,
}
"""Name of each kind of job, with what does it."""
