# SPDX-License-Identifier: Apache-2.0
"""`anonkit.release` and `anonkit.apply`: their keywords become the values that the main path works with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

from anonkit.bundle.stored_release import Release
from anonkit.checks.population_risk import AgainstPopulation
from anonkit.drafting.table_domains import MIN_PEOPLE
from anonkit.engines.engine_choice import EngineChoice, Local, OpenEngine, Spark, engine_choice, is_spark_frame
from anonkit.engines.snapshots.addresses import ReadAs, source_at
from anonkit.errors import ParameterError
from anonkit.ledger.account import Account, Where
from anonkit.methods import default_method, make_method, method_parameters
from anonkit.pipeline.earlier_batches import applied_recoding, batch_policy, earlier_recoding
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.release_space import Output
from anonkit.pipeline.request_form import (
    BatchLedgerOptions,
    BatchOptions,
    BatchOutputOptions,
    EngineOptions,
    LedgerOptions,
    MethodParameters,
    OutputOptions,
    PopulationOptions,
    ReleaseOptions,
    ReleaseRequest,
    RoleOptions,
    refuse_unknown,
    taken,
)
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Method, Progress, no_progress


def release(
    source: object,
    *,
    method: str | Method | None = None,
    output: str | Path | None = None,
    preset: str | None = None,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    target: str | None = None,
    unit: str | Sequence[str] | None = None,
    identifiers: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    engine: str | Engine | Local | Spark = "local",
    force: bool = False,
    dry_run: bool = False,
    domains_from_data: bool = False,
    utility: bool = True,
    seed: int | None = None,
    ledger: str | Path | Where | None = Where.FOUND,
    progress: Progress = no_progress,
    **options: Unpack[ReleaseOptions],
) -> Release:
    """Release a table: perturb it, check the promise on the output, and write all files together.

    Parameters
    ----------
    source : path, address or table
        CSV, TSV, JSON Lines (also gzip, zstd), Parquet file or folder, a pattern or folder of text files, a workbook, a
        file of SPSS, SAS or Stata, Arrow IPC, `-` for standard input, an address, or anything with the Arrow interface;
        on Spark also a data frame of it, a table of its catalog by name, or a place it can name (`s3a://…`). What may
        change or end while it is read is copied once into a private folder, which is deleted at the end.
    method : str or Method, optional
        Name of a method (see `anonkit methods`), or a method value. Without one it is "rfka"; with an `epsilon`
        "dp-forest", and "dp-marginals" where there is no target.
    output : path, optional
        `NAME.parquet`, or a folder when it ends in a slash. With `NAME.csv`, `.tsv`, `.xlsx`, `.sav`, `.dta`,
        `.arrow` or `.sqlite` the data are written in that form too, beside the Parquet file. Without it
        the release stays in memory.
    preset : str, optional
        A named set of choices, such as "paper"; `parameters` go on top.
    policy : Policy, mapping or path, optional
        What the owner declares. Undeclared columns are quasi-identifiers, unless they look like identifiers. The last
        one is taken for the target only where it is evidently a class label; under central differential privacy, where
        no label is released, by its place.
    target, unit, identifiers, sensitive
        Roles on top of the policy. Several units name a person together; the unit "none" says that rows are
        independent: no person has several.
    engine : str, Local, Spark or Engine
        "local", "spark", a value such as `anonkit.engines.Spark(master="yarn")`, or an engine that is open; it stays
        open. A Spark data frame is released by its own session.
    force : bool
        Replace a release that is there.
    dry_run : bool
        Do everything except writing; the report states what a release would be. Nothing is charged, so that all but the
        claim, errors too, are for the owner's eyes where noise is drawn; no domain is found privately.
    domains_from_data : bool
        Read categories and bounds that the policy does not declare from the table. Only for methods that need public
        domains; every file then says that the claim is conditional on these domains being public knowledge.
    utility : bool
        Train models to say how well the target is predicted, by the release and, for the owner, by the source.
    seed : int, optional
        Reproducible randomness for tests: every file then says that it is not for release.
    ledger : path, address or None
        File, or database of a server (`postgresql://…`), in which releases and their privacy loss are kept; by default
        the policy's, else that of the environment variable ANONKIT_LEDGER, else one beside the output, else
        the user's; and none for a release in memory. A file is made when it is not there. None keeps none, which is
        refused where the policy or ANONKIT_LEDGER_REQUIRED requires one.
    progress : callable
        Called with the step and the share done.
    **options
        The keywords below, and the parameters of the method.
    insensitive : iterable of str
        Columns that are published unchanged, a role on top of the policy.
    release_as_is : iterable of str
        Columns that may be released unchanged although their cells look like identifiers or number the rows
        (`release_as_is = true` in the policy); every file states so.
    keep : iterable of str
        Columns of which a k-anonymous release shows at least two values, ranges or groups, or is refused
        (`keep = true` in the policy).
    recipients : str or sequence of str
        Whom the table is meant for, as report and page will say; by default the policy's (`[publication]`).
    population : path or table, optional
        The population that the table was drawn from, a row a person, with the quasi-identifiers under the same names.
        At most one of this and the next two is given. The report of a k-anonymous release then says what its groups
        risk in the population, as an estimate and no guarantee.
    population_size : int, optional
        People of the population, at least as many as the table has; the table is taken for a simple random sample.
    sampling_fraction : float, optional
        Share of the population that the table is, in (0, 1].
    k_map : int, optional
        With a population file: fewest people of it that share each released group, 2 or more; a release with fewer is
        refused.
    no_target : bool
        Nothing is predicted: no column is taken for the target, and detail is kept for all columns together.
    task : str, optional
        "classification" or "regression": what consumers do with the target; by default the policy's, else found from
        the values of the target, or under differential privacy from what is declared of it.
    spark_master, spark_conf
        Where Spark runs and its settings, for engine "spark"; default the active session, else this machine.
    search_rows : int, optional
        Rows a method may hold in memory while it searches, 1 or more, by default 500,000. k-anonymous recodings of
        larger tables are searched on a keyed sample of so many rows, and counted and applied to all.
    part_rows : int, optional
        Write a sharded Parquet dataset, with about so many rows a shard, 1 or more; on Spark the executors write them.
    domains_min_people : int
        How many people (rows without a unit) share a category that is read from the table, or lie at or beyond a
        bound that is, in [2, inf). Other categories count as outside the domain, numbers beyond are clamped.
    owner_report : path, optional
        Folder for the measures that are computed from the source and must not be published, and for the dossier: one
        page for the owner with source and release side by side.
    examples : int
        Example rows of the source in the dossier, 0 or more, in the clear.
    sign : path, optional
        Private key (Ed25519, PEM) that signs all files: `NAME.signature.json`. Needs an output, and no seed.
    emit : iterable of str
        Entries for catalogues that are written too: "croissant" (`NAME.croissant.json`, Croissant 1.1), "registry"
        (`NAME.registry.yaml`, a draft for the OpenDP deployments registry; only where an epsilon is promised).
    cells : str
        How generalized numbers of a k-anonymous release are shown: "labels", such as [30, 40) and `*`, "bounds", as two
        columns of numbers in place of one: `age_low` and `age_high`, or "means", as these and `age_mean`, the mean of
        the group: withheld where it would disclose one person's number, and refused beside another release with means
        whose groups differ by fewer than k people.
    dataset : str, optional
        The owner's name for the data, under which the ledger adds up; by default the policy's, or that of the dataset
        with the same rows.
    budget : float, optional
        Total epsilon allowed for the dataset from now on, over all its releases; it goes before the policy's, which
        lowers what the ledger remembers and never raises it.
    budget_delta : float, optional
        The same for delta, in [0, 1]; 0 allows promises without a delta only.
    budget_neighbours : str, optional
        Between which two tables the budget holds: "added or removed" or "replaced"; by default, when a budget is given,
        one person where any release of the dataset had a unit, and replaced where any compares replaced records.
    budget_unit : str, optional
        With it: column whose values are the people of these tables; "none": they differ in one row.
    accept_joint_k : int, optional
        Smallest group that a k-anonymous release may form together with earlier ones of its dataset, 1 or more; by
        default the policy's `joint_k`, else its own k. Below k, every file states so.
    new_ledger : bool
        Go on in a ledger that knows nothing of the earlier releases of the folder, which the pointer in it names; the
        report states so.
    only_new : bool
        Release the rows of people who are in no earlier k-anonymous release of the dataset, and no others; k is counted
        among them. Needs a unit, the name of the dataset, and a ledger that remembers their people.
    released_before : path, optional
        With it: the table that was released before, where the ledger does not remember its people.
    query : str, optional
        SQL that a database runs instead of reading one of its tables.
    sheet : str, optional
        Sheet of a workbook; by default its only one.
    format : str, optional
        Format of a source whose name does not give it, and of standard input: "csv", "tsv", "jsonl", "parquet",
        "arrow", "excel", "sav", "por", "dta", "sas7bdat", "xpt", "delta", "iceberg".
    header_row : int, optional
        Row of the sheet in which the columns have their names, 1 or more; by default the first one.
    header : bool, optional
        Whether the first line of CSV or TSV, or the first row of a sheet, holds the names of the columns. By default it
        does, and is refused where it looks like a record.
    names : sequence of str or str, optional
        Names of the columns of such a table without a header; a text has commas between them. By default c1, c2, …
    decimal : str, optional
        Decimal mark of the numbers in CSV and TSV, "." or ","; by default the policy's.
    delimiter : str, optional
        Delimiter of the cells of CSV and TSV, one ASCII character or "tab"; by default that of the header.
    skip_rows : int, optional
        Lines of CSV and TSV, or rows of a sheet, above the header; by default titles and `#` lines are found.

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
    LedgerError
        The ledger cannot be reached or used, or one is required and not there; nothing was written, unless the message
        says that the release is in place and counts.
    PolicyError, ParameterError, SourceError
        Something given is wrong; nothing was written.

    Privacy
    -------
    The promise, its unit and its limits are in `Release.report["guarantee"]`. Shuffling and noise use a secure
    generator unless `seed` is given.
    """
    given: dict[str, Any] = {**options}
    declared = (
        (Policy() if policy is None else Policy.given(policy))
        .with_roles(target=target, unit=unit, identifiers=identifiers, sensitive=sensitive, **taken(given, RoleOptions))
        .releasing_as_is(given.pop("release_as_is", ()))
        .keeping(given.pop("keep", ()))
        .meant_for(given.pop("recipients", ()))
    )
    min_people = given.pop("domains_min_people", MIN_PEOPLE)
    how = taken(given, ReadAs)
    values: dict[str, Any] = {
        "population": AgainstPopulation.known(**taken(given, PopulationOptions)),
        "engine": _engine(engine, source, **taken(given, EngineOptions)),
        "output": Output.at(output, force=force, dry_run=dry_run, **taken(given, OutputOptions)),
        "account": Account(ledger=ledger, **taken(given, LedgerOptions)),
    }
    request = ReleaseRequest(
        method=_method(method, given, preset, without_target=declared.without_target),
        policy=declared,
        preset=preset,
        domains_min_people=min_people if domains_from_data else None,
        seed=seed,
        utility=utility,
        progress=progress,
        **values,
    )
    return release_table(source_at(source, **how), request)


def _method(
    method: str | Method | None, parameters: Mapping[str, Any], preset: str | None, *, without_target: bool
) -> Method:
    """Return the method of a release: by name with its parameters, or a value, which has them."""
    if method is None:
        method = default_method(parameters, without_target=without_target)
    if isinstance(method, str):
        known = {*MethodParameters.__annotations__, *(one.name for one in method_parameters(method))}
        refuse_unknown("release", parameters, known, near=ReleaseOptions.__annotations__)
        return make_method(method, parameters, preset)
    if parameters or preset:
        raise ParameterError(f"parameters go into the method value: {', '.join(parameters) or 'preset'}")
    return method


def _engine(engine: str | Engine | Local | Spark, source: object, **settings: Any) -> EngineChoice:
    """Return the choice of an engine: a name with its settings, or a value or an engine that has them.

    A data frame of Spark is read by its own session, whatever engine was named.
    """
    if isinstance(engine, str):
        settings = {name.removeprefix("spark_"): value for name, value in settings.items()}
        return engine_choice(Spark.name if is_spark_frame(source) else engine, **settings)
    if any(value is not None and value != {} for value in settings.values()):
        raise ParameterError("an engine that is open has its settings", f"leave {', '.join(settings)} out")
    if isinstance(engine, Local) and is_spark_frame(source):
        return Spark(**asdict(engine))
    return engine if isinstance(engine, Local | Spark) else OpenEngine(engine=engine)


def apply(
    params: str | Path,
    source: object,
    *,
    output: str | Path | None = None,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    max_suppression: float | None = None,
    engine: str | Engine | Local | Spark = "local",
    force: bool = False,
    dry_run: bool = False,
    utility: bool = False,
    seed: int | None = None,
    ledger: str | Path | Where | None = Where.FOUND,
    progress: Progress = no_progress,
    **options: Unpack[BatchOptions],
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
    utility : bool
        Train models to predict the target, as `release` does, to say what the batch is worth. It takes longer than
        recoding a small batch.
    release_as_is : iterable of str
        As for `release`; columns that the earlier release shows so need not be named again.
    recipients : str or sequence of str
        As for `release`; those of the earlier release are not taken over.
    policy : Policy, mapping or path, optional
        What the owner declares. Of it hold where the ledger is and whether one is required, `joint_k`, the
        encoding and the recipients; roles, types and domains are those of the earlier release.
    encoding : str, optional
        Encoding of the next batch, where it is a text file; the policy's, else UTF-8, by default.
    adopt : bool
        Where no ledger knows the earlier release, book it as handed out; without it such a batch is refused. It is
        looked for in the ledger of the batch, then in one beside `params`.
    population, population_size, sampling_fraction, k_map
        As for `release`: what the groups of the batch risk in the population. A file is refused where small groups of
        the batch show coarser labels, since no file shows who would have which.

    Other parameters, return value and errors are those of `release`.

    Privacy
    -------
    k is counted in the new batch alone. Batches of the same people can be combined by an attacker.
    """
    refuse_unknown("apply", options, BatchOptions.__annotations__)
    method = earlier_recoding(params, max_suppression=max_suppression)
    given: dict[str, Any] = {**options}
    declared = None if policy is None else Policy.given(policy)
    declared = (
        batch_policy(method, declared, given.pop("encoding", None))
        .releasing_as_is(given.pop("release_as_is", ()))
        .meant_for(given.pop("recipients", ()))
    )
    how, applied = taken(given, ReadAs), applied_recoding(params, adopt=given.pop("adopt", False))
    request = ReleaseRequest(
        method=method,
        policy=declared,
        engine=_engine(engine, source, **taken(given, EngineOptions)),
        output=Output.at(output, force=force, dry_run=dry_run, **taken(given, BatchOutputOptions)),
        account=Account(ledger=ledger, applied=applied, **taken(given, BatchLedgerOptions)),
        population=AgainstPopulation.known(**taken(given, PopulationOptions)),
        seed=seed,
        utility=utility,
        progress=progress,
    )
    return release_table(source_at(source, **how), request)
