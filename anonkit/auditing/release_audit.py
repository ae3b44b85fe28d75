# SPDX-License-Identifier: Apache-2.0
"""The audit of a release by its owner: the source is read as for the release, then attacked.

Lower bound on the epsilon of a randomized table, from many answers drawn for two opposite rows.

The two rows differ in every column: the ends of a number, the two commonest values of a category, as the source has
them. The published mechanisms answer for each as they did for the rows of the release, and an attacker who knows them
distinguishes the answers by their likelihood ratio, column by column and for the whole row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import Values, columns_of
from anonkit.auditing.attacks.battery import ATTACKS, Audit, audit_tables
from anonkit.auditing.attacks.success_rates import ALPHA, BELOW, REFUTED, REFUTED_ALPHA, UNCLAIMED, WEAK, LossBound
from anonkit.auditing.coin_audit import toss_again
from anonkit.auditing.epsilon_audit import EpsilonBound, epsilon_from_counts, lower_bound
from anonkit.auditing.rerun import rerun
from anonkit.bundle.bound_columns import labelled_rows
from anonkit.bundle.data_files import read_rows
from anonkit.bundle.release_place import Place
from anonkit.bundle.stored_release import Release, load
from anonkit.domains.coded_columns import FloatArray
from anonkit.engines import open_engine
from anonkit.engines.reading.declared_tables import settled
from anonkit.engines.snapshots.addresses import ReadAs, source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import AnonkitError, ParameterError, PolicyError
from anonkit.methods.safepub import FORMAT as DRAWN_ROWS
from anonkit.policy import places
from anonkit.policy.calendar_columns import Calendar, StatedCalendar
from anonkit.policy.column_declarations import Column, ColumnType, Outside, Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.person_candidates import joint_keys
from anonkit.policy.side_files import UTF8, encoding_named
from anonkit.protocols import Progress, no_progress
from anonkit.published.aggregates import FORMAT as AGGREGATES
from anonkit.published.randomized_table import FORMAT, PublishedTable
from anonkit.published.statements.noise_statement import shows_no_rows
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
        columns.append({"name": name, **_verdict(loss, alone)})
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


def _verdict(loss: float, alone: EpsilonBound) -> dict[str, Any]:
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


_NOT_AGAIN = "The claimed epsilon was not audited, since the randomization cannot be run again"


def audit(
    release: str | Path | Release | Any,
    original: object,
    *,
    control: object = None,
    encoding: str | None = None,
    sensitive: Sequence[str] = (),
    quasi_identifiers: Sequence[str] | None = None,
    attacks: int = ATTACKS,
    runs: int | None = None,
    seed: int = 0,
    ceilings: bool = True,
    progress: Progress = no_progress,
    **how: Unpack[ReadAs],
) -> Audit:
    """Attack a release with the knowledge of its source.

    Parameters
    ----------
    release : path, Release or table
        A release, or any table made from the source.
    original : path or table
        The source it was made from.
    control : path or table, optional
        Rows of the same population that were not released: what can be learned about them is no fault of the release.
        With them membership is attacked too.
    encoding : str, optional
        Encoding of the source and the control, where they are text files; UTF-8 by default.
    sensitive : sequence of str
        Columns to infer, on top of the release's sensitive columns and its target.
    quasi_identifiers : sequence of str, optional
        What a weaker attacker knows; the release's own by default.
    attacks : int
        How many people are attacked, in [10, inf).
    runs : int, optional
        How often the randomization of a release that claims an epsilon is run again to bound it from below: releases
        of small tables, or answers for each of two rows. By default as many as some seconds allow; 0 leaves it out.
    seed : int
        Seed of the random choice of people.
    ceilings : bool
        Whether the source as it is, and with every value renamed, is attacked too: what the attacks find at most.
        Without them descriptions are twice the people attacked, and holders of single values are not attacked apart.
    progress : callable
        Called with the step and the share done.
    **how
        `query`, `sheet`, `format`, `header_row`, `header`, `names`, `decimal`, `delimiter` and
        `skip_rows`, of the source and the control; see `anonkit.release`.

    Raises
    ------
    ParameterError
        The tables have nothing in common, or too few attacks are requested.

    Privacy
    -------
    The result is computed from the source: for the owner, never to be published with the release. What is run again is
    kept in memory and given to nobody, so that it spends no budget and is in no ledger.
    """
    if attacks < 10:
        raise ParameterError(f"attacks ({attacks}) must be 10 or more", "500 give limits of about 4 points")
    loaded = release if isinstance(release, Release) else _loaded(release)
    params = {} if loaded is None else dict(loaded.params)
    report = {} if loaded is None else dict(loaded.report)
    if params.get("format") == AGGREGATES or shows_no_rows(params):
        raise ParameterError(
            "the release holds published figures and no rows of people: there is nothing that these attacks could link",
            "`anonkit validate` adds up its epsilon and follows every figure",
        )
    policy = replace(_types(params), encoding=UTF8 if encoding is None else encoding_named(encoding))
    with closing(open_engine("local")) as engine:

        def read(source: object) -> pa.Table:
            with snapshot(source_at(source, **how)) as stays:
                scanned = stays.scan(engine, policy)
                opened = settled(scanned, policy.resolve(scanned.schema.names, target_use=_AS_DECLARED), engine)
                return pa.Table.from_batches(opened.batches(), schema=opened.schema)

        released = _released(release) if loaded is None else labelled_rows(loaded)
        roles = _columns(report)
        secrets = [
            *sensitive,
            *(
                name
                for name, role_of_column in roles.items()
                if role_of_column.get("sensitive") or role_of_column["role"] == "target"
            ),
        ]
        known = [name for name, role_of_column in roles.items() if role_of_column["role"] == Role.QUASI_IDENTIFIER]
        progress("reading", 0.0)
        source = read(original)
        audited = audit_tables(
            released,
            source,
            params=params,
            guarantee=report.get("guarantee", {}),
            control=None if control is None else read(control),
            secrets=list(dict.fromkeys(secrets)),
            widths={
                column["name"]: float(column["width"]) for column in params.get("columns", ()) if "width" in column
            },
            quasi_identifiers=known if quasi_identifiers is None else list(quasi_identifiers),
            attacks=attacks,
            seed=seed,
            people=_people(source, params, report),
            ceilings=ceilings,
            progress=progress,
        )
    if runs == 0 or "epsilon" not in report.get("guarantee", {}).get("parameters", {}):
        return audited
    progress("bounding epsilon", 0.0)
    try:
        if params.get("format") == DRAWN_ROWS:
            return replace(audited, epsilon=toss_again(report, params, runs=runs, seed=seed))
        again = answer_again if params.get("format") == FORMAT else rerun
        return replace(audited, epsilon=again(report, params, source, runs=runs, seed=seed))
    except (AnonkitError, KeyError, pa.ArrowException) as error:
        reason = error.message if isinstance(error, AnonkitError) else "its files do not say how"
        return replace(audited, notes=(f"{_NOT_AGAIN}: {reason}.",))


def _people(source: pa.Table, params: Mapping[str, Any], report: Mapping[str, Any]) -> NDArray[np.int64] | None:
    """Return the person of each row, -1 for nobody; None where the source identifies nobody.

    Without a unit the rows of one value of a candidate for the person are one person, of the candidate with most values
    where there are several; a row without a value is a person of its own.
    """
    if not source.num_rows:
        return None
    unit = next((name for name, column in _columns(report).items() if column["role"] == Role.UNIT), None)
    if unit is not None:
        made = {column["name"]: column.get("together") for column in params.get("columns", ())}
        return _keyed(source, made.get(unit) or [unit])
    candidates = report.get("guarantee", {}).get("parameters", {}).get("candidates", ())
    found = [_keyed(source, candidate["columns"]) for candidate in candidates]
    known = [codes for codes in found if codes is not None]
    if not known:
        return None
    finest = max(known, key=lambda codes: int(codes.max()))
    alone = finest < 0
    return np.where(alone, int(finest.max()) + np.cumsum(alone), finest)


def _columns(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {column["name"]: column for column in report.get("columns", ())}


def _keyed(source: pa.Table, names: Sequence[str]) -> NDArray[np.int64] | None:
    """Return a number for the keys of some columns together, -1 where one is missing; None where they are not there."""
    if not set(names) <= set(source.column_names):
        return None
    keys = pa.chunked_array([joint_keys(batch, names) for batch in source.to_batches()], pa.string())
    coded = pc.dictionary_encode(keys).combine_chunks()
    codes: NDArray[np.int64] = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _loaded(release: object) -> Release | None:
    """Return the release a path belongs to, or None for a plain table."""
    if not isinstance(release, str | Path):
        return None
    try:
        place = Place.of(release)
    except ParameterError:
        return None
    return load(release) if len(place.existing()) > 1 else None


def _released(table: object) -> pa.Table:
    if isinstance(table, str | Path) and str(table).endswith(".parquet"):
        table = read_rows(Path(table)).replace_schema_metadata(None)
    with closing(open_engine("local")) as engine:
        opened = engine.scan(table, Policy())
        return pa.Table.from_batches(opened.batches(), schema=opened.schema)


def _types(params: dict[str, Any]) -> Policy:
    """Return the types and missing values with which the release read its source."""
    columns = {}
    for column in params.get("columns", ()):
        try:
            kind = _KINDS.get(str(column.get("type", "")).rstrip("0123456789"), ColumnType.STRING)
            columns[column["name"]] = _declared(column, kind)
        except (PolicyError, KeyError):
            continue
    binned = params.get("binned", {})
    for name, stated in binned.items():
        columns[name] = _declared({"name": name, **stated}, ColumnType.STRING)
        place = columns[name].place
        for coordinate in () if place is None else place.columns:
            columns[coordinate] = Column(name=coordinate, role=Role.IDENTIFIER)
    missing = tuple(params.get("missing_values", ("",)))
    return replace(
        Policy(), cell_by_cell=bool(binned), columns=columns, missing_values=missing, optional=frozenset(columns)
    )


def _declared(column: dict[str, Any], kind: ColumnType) -> Column:
    """Return the reading of a column's cells; coordinates as the names of the finest cells."""
    name = column["name"]
    outside = column.get("place", column.get("calendar", {})).get("outside")
    stated = None if outside is None else Outside(outside)
    if "place" in column:
        place = places.GeographicPlace.of(places.StatedPlace.from_params(column["place"]), f"place {name!r}")
        beyond = Outside.MISSING if place.box is None else stated
        return Column(name=name, role=Role.INSENSITIVE, place=place, outside=beyond)
    if "calendar" in column:
        calendar = Calendar.of(StatedCalendar.from_params(column["calendar"]), f"column {name!r}")
        return Column(name=name, calendar=calendar, outside=Outside.MISSING if calendar.bounds is None else stated)
    role = Role.IDENTIFIER if column.get("role") == Role.IDENTIFIER else Role.QUASI_IDENTIFIER
    return Column(name=name, type=kind, role=role)


_AS_DECLARED = TargetUse.AS_DECLARED
_KINDS = {
    "int": ColumnType.INTEGER,
    "uint": ColumnType.INTEGER,
    "float": ColumnType.NUMBER,
    "double": ColumnType.NUMBER,
    "bool": ColumnType.BOOLEAN,
    "date32[day]": ColumnType.DATE,
    "date": ColumnType.DATE,
}
