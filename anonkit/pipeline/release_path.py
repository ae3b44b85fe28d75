# SPDX-License-Identifier: Apache-2.0
"""The main path: promise, source, draft, verification, release. The only place where the steps meet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.signing import Signer
from anonkit.bundle.stored_release import PARAMS, Place, Release, read_json, refuse_changed, refuse_existing
from anonkit.drafting.table_domains import MIN_PEOPLE, with_domains_of
from anonkit.drafting.undeclared import Undeclared, judge_undeclared
from anonkit.engines import is_spark_frame, open_engine
from anonkit.engines.reading.settled_tables import settled, unusable_cells
from anonkit.errors import GuaranteeError, ParameterError
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.ledger.account import Account, Where
from anonkit.ledger.spending import Spending
from anonkit.methods import make_method
from anonkit.pipeline.output_measures import answer_checks, owner_measures, recount, release_utility
from anonkit.pipeline.publishing import VerifiedDraft, method_block, publish, refuse_beside_release, write_owner_report
from anonkit.pipeline.released_values import as_written
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import Check, Guarantee
from anonkit.protocols import Draft, Engine, Method, Progress, Source, no_progress
from anonkit.randomness import Randomness
from anonkit.redaction import table_name


def release(
    source: Any,
    *,
    method: str | Method = "rfka",
    output: str | Path | None = None,
    preset: str | None = None,
    policy: Policy | str | Path | None = None,
    target: str | None = None,
    unit: str | None = None,
    identifiers: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    insensitive: Iterable[str] = (),
    engine: str | Engine = "local",
    spark_master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    search_rows: int | None = None,
    part_rows: int | None = None,
    force: bool = False,
    dry_run: bool = False,
    domains_from_data: bool = False,
    domains_min_people: int = MIN_PEOPLE,
    owner_report: str | Path | None = None,
    sign: str | Path | None = None,
    seed: int | None = None,
    ledger: str | Path | Where | None = Where.BESIDE,
    dataset: str | None = None,
    budget: float | None = None,
    accept_joint_k: int | None = None,
    progress: Progress = no_progress,
    **parameters: Any,
) -> Release:
    """Release a table: perturb it, check the promise on the output, and write all files together.

    Parameters
    ----------
    source : path or table
        CSV, TSV, JSON Lines (also gzip, zstd), Parquet file or folder, or anything with the Arrow interface; on Spark
        also a data frame of it, a table of its catalog by name, or a place it can name (`s3a://…`).
    method : str or Method
        Name of a method (see `anonkit methods`), or a method value.
    output : path, optional
        `NAME.parquet`, or a folder when it ends in a slash. Without it the release stays in memory.
    preset : str, optional
        A named set of choices, such as "paper"; `parameters` go on top.
    policy : Policy or path, optional
        What the owner declares. Undeclared columns are quasi-identifiers, the last one the target.
    target, unit, identifiers, sensitive, insensitive
        Roles on top of the policy.
    engine : str or Engine
        "local", "spark", or an engine that is open; it stays open. A Spark data frame is released by its own session.
    spark_master, spark_conf
        Where Spark runs and its settings, for engine "spark"; default the active session, else this machine.
    search_rows : int, optional
        Rows a method may hold in memory while it searches, 1 or more, by default 500,000. k-anonymous recodings of
        larger tables are searched on a keyed sample of so many rows, and counted and applied to all.
    part_rows : int, optional
        Write the data as a folder of Parquet files of about so many rows, 1 or more; on Spark the executors write them.
    force : bool
        Replace a release that is there.
    dry_run : bool
        Do everything except writing; the report tells what a release would be.
    domains_from_data : bool
        Read categories and bounds that the policy does not declare from the table. Only for methods that need public
        domains; every file then says that the claim is conditional on these domains being public knowledge.
    domains_min_people : int
        How many people (rows without a unit) share a category that is read from the table, or lie at or beyond a
        bound that is, in [2, inf). Other categories count as outside the domain, numbers beyond are clamped.
    owner_report : path, optional
        Folder for the measures that are computed from the source and must not be published.
    sign : path, optional
        Private key (Ed25519, PEM) that signs all files: `NAME.signature.json`. Needs an output, and no seed.
    seed : int, optional
        Reproducible randomness for tests: every file then says that it is not for release.
    ledger : path or None
        File in which releases and their privacy loss are kept, made when it is not there; by default one beside the
        output, and none for a release in memory. None keeps none.
    dataset : str, optional
        The owner's name for the data, under which the ledger adds up; by default the policy's, or that of the dataset
        with the same rows.
    budget : float, optional
        Total epsilon allowed for the dataset from now on, over all its releases.
    accept_joint_k : int, optional
        Smallest group that a k-anonymous release may form together with earlier ones of its dataset, 1 or more; by
        default the policy's `joint_k`, else its own k. Below k, every file says so.
    progress : callable
        Called with the step and the share done.
    **parameters
        Parameters of the method.

    Returns
    -------
    Release
        On disk when `output` is given, else in memory.

    Raises
    ------
    GuaranteeError
        The promise cannot be kept or did not verify; nothing was written.
    BudgetError
        The budget of the dataset would be overspent, or its rows were randomized before; nothing was written.
    DatasetError
        Nobody named the dataset, and the table looks like one that the ledger knows; nothing was written.
    PolicyError, ParameterError, SourceError
        Something given is wrong; nothing was written.

    Privacy
    -------
    The promise, its unit and its limits are in `Release.report["guarantee"]`. Shuffling and noise use a secure
    generator unless `seed` is given.
    """
    if isinstance(method, str):
        method = make_method(method, parameters, preset)
    elif parameters or preset:
        raise ParameterError(f"parameters go into the method value: {', '.join(parameters) or 'preset'}")
    place = None if output is None else Place.of(output)
    _refuse_parts(part_rows, place)
    signer = _signer(sign, place, seed)
    if place is not None and not dry_run:
        refuse_existing(place, force)
    if place is not None and owner_report is not None:
        refuse_beside_release(Path(owner_report), place.folder)
    declared = policy if isinstance(policy, Policy) else Policy() if policy is None else Policy.load(policy)
    declared = declared.with_roles(
        target=target, unit=unit, identifiers=identifiers, sensitive=sensitive, insensitive=insensitive
    )
    # what cannot be promised is refused before any data is opened
    early = None if domains_from_data else method.guarantee(declared)
    if early is not None and early.cell_by_cell:
        declared = replace(declared, cell_by_cell=True)
    randomness = Randomness.secure() if seed is None else Randomness.seeded(seed)
    account = Account.of(ledger, place, dataset, budget, accept_joint_k)
    with (
        _engine(engine, source, spark_master, spark_conf, search_rows) as opened,
        closing(open_engine("local")) as files,
        closing(PrivateFolder()) as private,
    ):
        progress("reading", 0.0)
        judged = early is None or not early.cell_by_cell
        read, resolved, promise, undeclared = _promised(
            source,
            method,
            declared,
            opened,
            judged=judged,
            min_people=domains_min_people if domains_from_data else None,
        )
        spending = Spending(account, promise, read, opened, resolved, table_name(source))
        spending.look()
        table = settled(read, resolved, opened)
        work = _perturb(
            method,
            preset,
            promise,
            table,
            resolved,
            opened,
            files,
            randomness,
            progress,
            private,
            part_rows,
            notes=[*_role_notes(declared, resolved), *undeclared.notes(resolved)],
            undeclared=undeclared,
        )
        work = replace(work, owner={**unusable_cells(read, resolved, opened), **work.owner})
        if dry_run:
            work = work.at(spending.rehearsed(work.params))
            return Release(params=work.params, report=work.report(), contents={}, owner=work.owner)
        with spending.reserved(method.name, work.params, place) as (position, publishing):
            work = work.at(position)
            if owner_report is not None:
                write_owner_report(Path(owner_report), work)
            return publish(work, place, files, publishing, signer)


def _engine(
    engine: str | Engine,
    source: Any,
    master: str | None,
    conf: Mapping[str, str] | None,
    search_rows: int | None,
) -> AbstractContextManager[Engine]:
    """Return the engine that is asked for; one that was open before stays open."""
    if not isinstance(engine, str):
        if master is not None or conf or search_rows is not None:
            raise ParameterError("an engine that is open has its settings", "leave master, conf and search_rows out")
        return nullcontext(engine)
    name = "spark" if is_spark_frame(source) else engine
    return closing(open_engine(name, master=master, conf=conf, search_rows=search_rows))


def _refuse_parts(part_rows: int | None, place: Place | None) -> None:
    if part_rows is not None and part_rows < 1:
        raise ParameterError(f"part_rows ({part_rows}) must be 1 or more", "leave it out for one file")
    if part_rows is not None and place is None:
        raise ParameterError("a release in memory is one file", "name an output, or leave part_rows out")


def _signer(sign: str | Path | None, place: Place | None, seed: int | None) -> Signer | None:
    """Read the key that signs, before any data is opened."""
    if sign is None:
        return None
    if seed is not None:
        raise ParameterError("a seeded release is not for release, so it is not signed", "leave out the seed, or sign")
    if place is None:
        raise ParameterError("a release in memory is not signed: its files have no names yet", "name an output")
    return Signer.load(sign)


def apply(
    params: str | Path,
    source: Any,
    *,
    output: str | Path | None = None,
    max_suppression: float | None = None,
    engine: str | Engine = "local",
    spark_master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    search_rows: int | None = None,
    part_rows: int | None = None,
    sign: str | Path | None = None,
    force: bool = False,
    dry_run: bool = False,
    seed: int | None = None,
    ledger: str | Path | Where | None = Where.BESIDE,
    dataset: str | None = None,
    accept_joint_k: int | None = None,
    progress: Progress = no_progress,
) -> Release:
    """Recode the next batch of a table as an earlier k-anonymous release was recoded, and check its promise anew.

    Parameters
    ----------
    params : path
        The `params.json` of the earlier release, or any other file of it.
    source : path or table
        The next batch, with the same columns.
    max_suppression : float, optional
        Share of rows that may be left out; the earlier release's by default.

    Other parameters, return value and errors are those of `release`.

    Privacy
    -------
    k is counted in the new batch alone. Batches of the same people can be combined by an attacker.
    """
    place = Place.of(params)
    refuse_changed(place, PARAMS)
    earlier = read_json(place.file(PARAMS))
    method = Recoded.from_params(earlier, max_suppression=max_suppression)
    return release(
        source,
        method=method,
        output=output,
        policy=method.policy(),
        engine=engine,
        spark_master=spark_master,
        spark_conf=spark_conf,
        search_rows=search_rows,
        part_rows=part_rows,
        sign=sign,
        force=force,
        dry_run=dry_run,
        seed=seed,
        ledger=ledger,
        dataset=dataset,
        accept_joint_k=accept_joint_k,
        progress=progress,
    )


def _promised(
    source: Any, method: Method, declared: Policy, engine: Engine, *, judged: bool, min_people: int | None
) -> tuple[Source, Policy, Guarantee, Undeclared]:
    """Open the source, settle the role of every column, and state the promise.

    Undeclared columns are judged by their cells only where no promise of differential privacy without a condition
    would depend on it: there every column that is used is declared, and no cell is read by the type of its column.
    Domains that are read from the table are found by types; the table is read once more then.
    """
    table = engine.scan(source, declared)
    undeclared = judge_undeclared(table, declared, engine) if judged else Undeclared()
    policy = undeclared.declared(declared).resolve(table.schema.names, target_use=method.target_use)
    if min_people is not None:
        policy = replace(policy, identifiers_from_data=tuple(undeclared.taken))
        policy = with_domains_of(policy, table, engine, min_people)
        undeclared = undeclared.with_rare(policy.identifiers_from_data)
    promise = method.guarantee(policy)
    if min_people is not None and not promise.cell_by_cell:
        raise ParameterError(f"method {method.name!r} needs no public domains", "leave --domains-from-data out")
    if min_people is not None:
        policy = replace(policy, cell_by_cell=True)
        table = table if isinstance(source, pa.RecordBatchReader) else engine.scan(source, policy)
    return table, policy, promise, undeclared


def _perturb(
    method: Method,
    preset: str | None,
    promise: Guarantee,
    table: Source,
    policy: Policy,
    engine: Engine,
    files: Engine,
    randomness: Randomness,
    progress: Progress,
    private: PrivateFolder,
    part_rows: int | None,
    *,
    notes: Sequence[str],
    undeclared: Undeclared,
) -> VerifiedDraft:
    """Make the draft, recount it, and refuse it when the promise does not hold.

    The engine holds the source; from the draft on, all there is are `files` of this machine.
    """
    draft = method.release(table, policy, engine=engine, rng=randomness, progress=progress)
    draft = replace(draft, columns=undeclared.marked(draft.columns))
    progress("checking", 0.0)
    spool = private.path / "draft.parquet"
    n_rows = engine.write(draft.data, spool, metadata={}, randomness=randomness, part_rows=part_rows)
    draft, hidden, schema = _as_written(promise, draft, spool, policy)
    classes = promise.counted_classes
    counted = None if classes is None else recount(classes, spool, schema)
    checks = [
        *([] if classes is None or counted is None else classes.verify(counted)),
        *answer_checks(promise, spool, draft, method_block(method)),
        *_structure_checks(draft, policy),
    ]
    _refuse_broken(checks)
    return VerifiedDraft(
        method=method,
        preset=preset,
        promise=promise,
        policy=policy,
        draft=draft,
        data=_without(files, files.scan(spool, Policy()), hidden),
        spool=None if hidden else spool,
        part_rows=part_rows,
        n_rows=n_rows,
        counted=counted,
        checks=checks,
        utility=release_utility(promise, spool, files, policy, counted, randomness),
        owner={**draft.owner, **owner_measures(promise, table, engine, policy, randomness)},
        notes=[*notes, *draft.notes],
        randomness=randomness.label,
    )


def _structure_checks(draft: Draft, policy: Policy) -> list[Check]:
    """Check that nothing reaches the output that must not."""
    made = {column["name"] for column in draft.columns if column["action"] == "synthesized"}
    names = [name for name in draft.data.schema.names if name != policy.unit and name not in made]
    stray = [name for name in names if name not in policy.columns or not policy.column(name).is_released]
    return [Check(name="identifiers_absent", passed=not stray, observed=len(stray), required=0)]


def _refuse_broken(checks: Sequence[Check]) -> None:
    broken = [check for check in checks if not check.passed]
    if broken:
        first = broken[0]
        raise GuaranteeError(
            f"the promise does not hold on the output: {first.name} is {first.observed}, {first.required} was asked",
            "nothing was written; ask for less, or allow more suppression",
        )


def _as_written(
    promise: Guarantee, draft: Draft, spool: Path, policy: Policy
) -> tuple[Draft, frozenset[str], pa.Schema]:
    """Describe a draft as its table is; return it, the columns that are not released, and the schema to count."""
    schema, unit = draft.data.schema, frozenset({policy.unit} & set(draft.data.schema.names))
    if promise.counted_classes is None:
        return draft, frozenset(name for name in unit if name is not None), schema
    found = as_written(draft, spool, policy)
    return found.draft, frozenset({*found.constant, *(name for name in unit if name is not None)}), found.schema


def _without(engine: Engine, source: Source, hidden: Collection[str]) -> Source:
    if not hidden:
        return source
    names = [name for name in source.schema.names if name not in hidden]
    schema = pa.schema([source.schema.field(name) for name in names])
    return engine.map_batches(source, partial(_select, names=names), schema)


def _select(batch: pa.RecordBatch, row: int, *, names: Sequence[str]) -> pa.RecordBatch:
    return batch.select(names)


def _role_notes(declared: Policy, policy: Policy) -> list[str]:
    if declared.target is None and policy.target is not None:
        return [f"No target was named: the last column without a role, {policy.target!r}, was taken."]
    return []
