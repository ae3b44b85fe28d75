# SPDX-License-Identifier: Apache-2.0
"""The main path: promise, source, draft, verification, release; the only module that knows all the steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.data_files import HasWorkers, read_by, workers_of
from anonkit.bundle.private_files import PrivateFolder, ReservedSpace
from anonkit.bundle.signing import Signer
from anonkit.bundle.stored_release import Release
from anonkit.checks.shown_columns import kept_column_checks, look_at_unchanged
from anonkit.checks.table_scans import copied_once
from anonkit.drafting.clear_columns import words_on_published
from anonkit.engines.engine_choice import Local
from anonkit.errors import GuaranteeError, PolicyError, with_note
from anonkit.k_anonymity.held_out_labels import bounds_of_labels, label_entries
from anonkit.k_anonymity.recoded_rows import as_published, released_names
from anonkit.ledger.booked_releases import PlaceTakenError
from anonkit.ledger.spending import BOOKED, CHARGED, Spending, may_know_requests
from anonkit.pipeline.declared_source import DeclaredSource, declared_source, refuse_unknown_columns
from anonkit.pipeline.derived_columns import (
    bounds_notes,
    means_block,
    means_notes,
    means_of_draft,
    risk_by_weights,
    shown_labels,
    shown_rows,
    steps_of,
    weights_block,
)
from anonkit.pipeline.dossier import Released, is_dossier_of, make_dossier, rows_in_memory
from anonkit.pipeline.earlier_batches import with_new_people
from anonkit.pipeline.output_measures import ReleasedRows, SourceCounts, answer_checks, recount, release_utility
from anonkit.pipeline.population_measures import ReleasedClasses, measured_population, refuse_population
from anonkit.pipeline.publishing import VerifiedDraft, method_block, planned_release, prepared, publish, with_copy
from anonkit.pipeline.recipe_sources import SeveralTables
from anonkit.pipeline.release_space import MEANS, ROWS_UNKNOWN, Output, bytes_wanted, drafted_in, release_space
from anonkit.pipeline.repeated_release import log_replacement, release_again, step_log
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.pipeline.stored_dossier import as_written, measured_dossier
from anonkit.pipeline.suppression import Previewed, expected_suppression, mondrian_preview
from anonkit.policy.declaration import Policy
from anonkit.policy.target_task import task_of_params
from anonkit.promises.guarantee import Check, Guarantee
from anonkit.protocols import Draft, Engine
from anonkit.randomness import Randomness
from anonkit.redaction import UNNAMED

_NO_ROW = "No row is released: the noise is larger than what it left. A larger epsilon, or fewer columns, leaves rows."
"""A note on a release without rows, which follows from the release alone."""

_WITHOUT_TYPES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".xlsx", ".csv.gz", ".csv.zst", "-")
"""Ends of the names of sources that bring no types of their own."""


def release_table(source: object, request: ReleaseRequest) -> Release:
    """Release a table: perturb it, check the promise on the output, and write all files together.

    Parameters
    ----------
    source : path or table
        As for `anonkit.release`.
    request : ReleaseRequest
        The rest of the request.

    Returns
    -------
    Release
        On disk when the request names a place, else in memory.

    Raises
    ------
    AnonkitError
        As `anonkit.release`; nothing was written.

    Privacy
    -------
    Shuffling and noise use a secure generator unless the request has a seed. The engine holds the source until the
    draft is written; from then on there is only what may be published, and the figures for the owner.
    """
    with step_log(f"release by {request.method.name}", request.progress) as log:
        release = _released(source, replace(request, progress=log.progress))
        log.made(release)
    return release


def _released(source: object, request: ReleaseRequest) -> Release:
    """Return the release; see `release_table`."""
    output = request.output
    output.refuse_unwritable(seeded=request.seed is not None)
    output.refuse_replacing(source.sources if isinstance(source, SeveralTables) else [source])
    output.refuse_taken_by_others()
    signer = output.signer()
    try:
        is_named = isinstance(source, str | PathLike)
        declared = request.declared(typed=not (is_named and str(source).lower().endswith(_WITHOUT_TYPES)))
    except PolicyError:  # a mistyped name is the better reason, and may be the only one
        refuse_unknown_columns(source, request)
        raise
    account = request.account.found(output.place, declared.bookkeeping)
    ledger = None if account.place is None else account.place.file
    output.refuse_losing(ledger)
    if request.seed is not None or not may_know_requests(account):
        output.refuse_existing()
    with (
        request.engine.opened() as engine,
        closing(release_space(output, ledger)) as space,
        _workspace(engine, output, space) as workspace,
    ):
        request.progress("reading", 0.0)
        draws_domains = request.domains_min_people is not None and getattr(request.method, "delta", 0) > 0
        if draws_domains and not output.dry_run:  # while the source is opened
            space.take(ROWS_UNKNOWN)
        opened = declared_source(source, request, declared, engine, workspace.private)
        output.refuse_unfit(opened.promise)
        if request.population.is_given:
            refuse_population(request.population, opened.promise, opened.rows.table.n_rows)
        output.refuse_unheld(opened.policy, declared, opened.promise, lambda: opened.rows.table.n_rows)
        if account.only_new:
            opened, account = with_new_people(opened, account, workspace.private)
        spending = Spending(account, opened.promise, opened.rows, opened.name, opened.request_form_of(request))
        run = _ReleaseRun(
            source=opened,
            request=request,
            workspace=workspace,
            spending=spending,
            signer=signer,
            randomness=request.randomness(),
        )
        if opened.refusal is not None:  # it discloses the draws that led to it; a dry run makes none
            spending.look()
            raise run.book_failure(opened.refusal).with_traceback(opened.refusal.__traceback__) from None
        return run.get_or_create()


@dataclass(frozen=True, kw_only=True, eq=False)
class _Workspace:
    """The place of a draft until it is published."""

    files: Engine
    """Reads the draft: from then on, its files are all there is."""
    private: PrivateFolder
    """Of the source's copy where it has one, and of a draft that this machine reads."""
    cluster: HasWorkers | None
    """The same engine, where its workers read and write the files of the draft; None where this machine does."""
    space: ReservedSpace
    """Disk space for the draft and its files, until they are written."""

    @cached_property
    def draft(self) -> Path:
        """The private Parquet file, or folder, of the draft's rows."""
        return (self.private.path if self.cluster is None else self.cluster.shared_folder()) / "draft.parquet"

    def released(self, draft: VerifiedDraft) -> ReleasedRows | None:
        """Return the draft's rows as they were counted; None where its promise is about no equivalence classes."""
        if draft.counted is None:
            return None
        names = released_names(draft.recoding)
        return ReleasedRows(
            rows=self.files.scan(self.draft, Policy()),
            files=self.files,
            applied=draft.draft.applied or as_published(draft.recoding),
            names=names,
            shown=[name for name in names if name in draft.data.schema.names],
            params=draft.draft.params,
            marked=draft.draft.first is not None,
            labels_seen=draft.draft.labels_seen,
        )


@contextmanager
def _workspace(engine: Engine, output: Output, space: ReservedSpace) -> Iterator[_Workspace]:
    """Yield a workspace whose private files are deleted in the end, whatever happens.

    An engine with workers keeps the files of a folder of data where they see them; one file is put together here.
    """
    with closing(PrivateFolder()) as private:
        if output.is_folder and isinstance(engine, HasWorkers):
            yield _Workspace(files=engine, private=private, cluster=engine, space=space)
            return
        with closing(Local().open()) as files:
            yield _Workspace(files=files, private=private, cluster=None, space=space)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ReleaseRun:
    """A run of a release: its table, request, workspace and account."""

    source: DeclaredSource
    request: ReleaseRequest
    workspace: _Workspace
    spending: Spending
    signer: Signer | None
    randomness: Randomness

    def get_or_create(self) -> Release:
        """Return the release that exists already, or a new one; drawn once, however often its place is taken."""
        draft, output = None, self.request.output
        if output.place is not None and not output.dry_run:
            self.spending.settle_try_outs(output.place, force=output.force)
        while True:
            earlier = None if output.place is None else self.spending.earlier(output.place)
            again = release_again(output, earlier, self.signer)
            if again is not None:
                self._write_dossier_of(again)
                return again
            if draft is None:
                self.spending.look()
                log_replacement(output, earlier, self.spending.booked_as)
                if self._draws_nothing:
                    return self._planned()
                if self.spending.booked_as == CHARGED and not output.dry_run:
                    self.workspace.space.take(self._bytes_wanted())
                draft = self._verified_draft()
            try:
                return self._booked(draft)
            except PlaceTakenError:  # by another process, which was faster: what it made is looked at first
                if output.place is not None:
                    self.spending.wait_for(output.place)

    def _bytes_wanted(self) -> int:
        """Return the disk space that the release may need, by what is public of it."""
        source = self.source
        return bytes_wanted(self.request.method, source.promise, source.policy, lambda: source.rows.table.n_rows)

    @property
    def _draws_nothing(self) -> bool:
        """True for a plan that states what holds before any draw: results of draws are charged, and a plan is not.

        For the owner alone it draws, but for domains: they are part of the claim, which is public.
        """
        found = self.source.policy.found_domains
        finds = found is not None and found.is_plan
        output, loss = self.request.output, self.source.promise.loss()
        return output.dry_run and loss is not None and (finds or not output.for_owner)

    def _planned(self) -> Release:
        """Return the claim and its cost, where it would be in the ledger, and what can be foreseen without the rows.

        What is foreseen is given the declaration and the names of columns, and nothing through which rows are read.
        """
        method, policy, foresees = self.request.method, self.source.policy, self.request.output.foresees
        position, label = self.spending.rehearsed({}), self.randomness.label
        plan = planned_release(method, self.request.preset, self.source.promise, policy, position, label)
        if foresees is None:
            return plan
        foreseen = foresees(method, policy, self.source.columns.names)
        return replace(plan, report={**plan.report, "foreseen": foreseen}).with_owner(plan.owner)

    def _verified_draft(self) -> VerifiedDraft:
        """Return a draft that keeps its promise, with the figures of the source."""
        has_noise = self.source.policy.found_domains is not None
        before: int | None = None
        try:
            counts = None
            if self.request.output.shows_owner:
                counts = self.source.counts(self.randomness if self.request.utility else None)
            before = self.randomness.draws  # those of a sample of the source are no noise
            draft = _verified(self.source, self.request, self.workspace, self.randomness)
            draft = with_copy(draft, self.workspace.files, self.workspace.draft.parent)
            draft = replace(draft, owner={**draft.owner, **self._previewed(draft, counts)})
            return replace(draft, owner=self.source.figures(draft.owner, self.workspace.released(draft), counts))
        except Exception as failure:  # once noise was drawn it may follow from it, whatever it says
            has_noise = has_noise or (before is not None and self.randomness.draws > before)
            if not has_noise or self.request.output.dry_run:
                raise
            charged = self.book_failure(failure)
            if charged is failure:
                raise
            raise charged.with_traceback(failure.__traceback__) from None

    def _previewed(self, draft: VerifiedDraft, counts: SourceCounts | None) -> Mapping[str, Any]:
        """Return a preview of another method on the columns that this one drops, where the owner reads it."""
        if not self.request.output.previews or self.source.promise.loss() is not None:
            return {}
        source, method = self.source, self.request.method
        sample_rows = None if counts is None or counts.sample_rows is None else counts.sample_rows()
        return mondrian_preview(
            Previewed(source.table, sample_rows),
            source.policy,
            source.engine,
            method,
            draft.draft.columns,
            self.randomness,
        )

    def book_failure(self, failure: Exception) -> Exception:
        """Book the draws that a failure may disclose, and return the failure with a note of the charge."""
        if not self.spending.spend(self.request.method.name):
            return failure
        return with_note(failure, BOOKED)

    def _booked(self, draft: VerifiedDraft) -> Release:
        """Publish a draft, charged to its dataset."""
        output = self.request.output
        if self.source.snapshot is not None:
            self.source.snapshot.refuse_changed()
        if output.dry_run:
            draft = draft.at(self.spending.rehearsed(draft.params))
            return Release(params=draft.params, report=draft.report(), contents={}).with_owner(draft.owner)
        output.refuse_taken()
        method = self.request.method.name
        with (
            prepared(output.place) as into,
            self.spending.reserved(method, draft.params, output.place, into.staging.folder) as (position, publishing),
        ):
            output.refuse_taken()  # once more: from here on nobody else is let in
            draft = draft.at(position)
            publishing = self._with_dossier(draft, publishing)
            self.workspace.space.give_back()
            return publish(draft, self.workspace.files, publishing, into, self.signer)

    def _with_dossier(self, draft: VerifiedDraft, publishing: Callable[[str], None]) -> Callable[[str], None]:
        """Measure the source beside the draft; return what writes the dossier right before anything is published.

        So nothing is published of which the owner would have no dossier. That of a release in memory is written here.
        """
        output, folder = draft.output, draft.output.owner_report
        if folder is None:
            return publishing
        dossier = make_dossier(
            Released(
                report=draft.report(),
                params=draft.params,
                table=rows_in_memory(draft.data, self.workspace.files, self.randomness.child("dossier")),
                name=None if output.place is None else output.place.stem,
            ),
            self.source.rows,
            {"method": draft.method.name, **draft.owner},
            source_table=self.source.file,
            examples=output.examples,
            randomness=self.randomness,
        )
        if output.place is None:
            dossier.write(folder, None)
            return publishing

        def written(data_sha256: str) -> None:
            dossier.write(folder, data_sha256)
            publishing(data_sha256)

        return written

    def _write_dossier_of(self, release: Release) -> None:
        """Write the dossier of a release that is handed back, unless it exists since the release was made.

        The figures of the draw itself, such as those of a search, went with it: they are not measured again.
        """
        place, folder = release.place, self.request.output.owner_report
        if place is None or folder is None:
            return
        data_sha256 = place.data_digest() or ""
        if not is_dossier_of(data_sha256, folder, place.stem):
            rows, table, examples = self.source.rows, self.source.file, self.request.output.examples
            measured_dossier(release, rows, source_table=table, examples=examples).write(folder, data_sha256)


def _verified(
    source: DeclaredSource, request: ReleaseRequest, workspace: _Workspace, randomness: Randomness
) -> VerifiedDraft:
    """Make the draft, recount it, and refuse it when the promise does not hold."""
    with read_by(workers_of(workspace.cluster)):
        source.clear.refuse(source.policy)  # before anything is drawn
        draft = source.drafted(request, randomness)
        workspace.space.give_back(drafted_in())
        request.progress("checking", 0.0)
        order = None if draft.in_order else randomness
        n_rows = request.output.write(source.engine, draft.data, workspace.draft, randomness=order, first=draft.first)
        with copied_once():
            return _recounted(source, request, workspace, randomness, draft, n_rows)


def _recounted(
    source: DeclaredSource,
    request: ReleaseRequest,
    workspace: _Workspace,
    randomness: Randomness,
    draft: Draft,
    n_rows: int,
) -> VerifiedDraft:
    """Return the draft that `_verified` makes, from its file; whoever reads that is settled."""
    promise, policy, files, spool = source.promise, source.policy, workspace.files, workspace.draft
    classes = promise.counted_classes
    as_drafted: Mapping[str, Any] = draft.params
    draft, hidden, schema = _as_written(promise, draft, spool, policy)
    counted = None if classes is None else recount(classes, spool, schema, policy, draft)
    promise = promise if classes is not promise or counted is None else classes.counted(counted)
    of_classes = [] if classes is None or counted is None else classes.verify(counted)
    checks = [
        *of_classes,
        *answer_checks(promise, spool, draft, method_block(request.method), policy.unit),
        *_structure_checks(draft, policy),
        *_clear_checks(source, spool, schema),
        *kept_column_checks(spool, schema.names, policy.kept),
    ]
    _refuse_broken(checks, of_classes if promise.loss() is None else [])
    population = None
    if request.population.is_given and classes is not None and counted is not None:
        request.progress("looking at the population", 0.0)
        params: Mapping[str, Any] = draft.params
        rows: Mapping[str, Any] = draft.rows
        released = ReleasedClasses(
            data=spool,
            rows=files.scan(spool, Policy()),
            files=files,
            counted=counted,
            promise=classes,
            shown=[name for name in classes.quasi_identifiers if name in schema.names],
            recoding=params["recoding"],
        )
        population = measured_population(request.population, released, rows["in"], source, workspace.private)
    weight = None if classes is None else policy.weight
    if classes is not None and weight is not None and weight.name in schema.names:
        names = [name for name in classes.quasi_identifiers if name in schema.names]
        draft = replace(draft, details={**draft.details, "weights": weights_block(spool, weight.name)})
        if population is None and classes.unit is None:
            population = risk_by_weights(files.scan(spool, Policy()), names, weight.name, files)
    bounds, means = None, None
    if classes is not None and request.output.shows_bounds:
        steps = steps_of(policy) if request.output.cells == MEANS else None
        bounds = bounds_of_labels(draft.params, schema.names, partial(shown_labels, spool), steps=steps)
    if classes is not None and bounds is not None and request.output.cells == MEANS:
        request.progress("computing means", 0.0)
        means = means_of_draft(draft, source.engine, policy, classes, bounds, schema.names)
        promise = replace(classes if counted is None else classes.counted(counted), means=True)
        draft = replace(draft, details={**draft.details, "means": means_block(means, bounds)})
    return VerifiedDraft(
        method=request.method,
        preset=request.preset,
        promise=promise,
        policy=policy,
        draft=draft,
        data=shown_rows(files, files.scan(spool, Policy()), hidden, policy, randomness),
        spool=None if hidden else spool,
        output=request.output,
        n_rows=n_rows,
        counted=counted,
        population=population,
        recoding={} if classes is None else as_drafted["recoding"],
        checks=checks,
        utility=release_utility(
            spool,
            schema,
            replace(policy, task=task_of_params(as_drafted)),
            counted,
            draft if request.utility else None,
            files,
        ),
        owner={
            **draft.owner,
            **expected_suppression(draft, counted, classes),
            **({} if means is None else {"means": means.owner, "number_distances": means.distances}),
        },
        notes=[
            *source.notes,
            *source.clear.notes(),
            *draft.notes,
            *bounds_notes(bounds),
            *([] if means is None else means_notes(draft.details["means"])),
            *_notes_on_values(draft, schema.names),
            *([] if n_rows else [_NO_ROW]),
        ],
        randomness=randomness.label,
        source_name=source.name if source.name != UNNAMED else None,
        bounds=bounds,
        means=means,
        cluster=workspace.cluster,
    )


def _notes_on_values(draft: Draft, released: Collection[str]) -> list[str]:
    """Return notes on columns with values that reach a person, by the recoding's labels; all of it is published."""
    found = []
    for name, entries in label_entries(draft.params).items():
        values = {value for entry in entries for value in entry.get("values", ())}
        words = words_on_published(name, values) if name in released else None
        found += [] if words is None else [words]
    return found


def _structure_checks(draft: Draft, policy: Policy) -> list[Check]:
    """Check that nothing reaches the output that must not."""
    synthesized = {column["name"] for column in draft.columns if column["action"] == "synthesized"}
    counted = _hidden(draft, policy)
    names = [name for name in draft.data.schema.names if name not in counted and name not in synthesized]
    stray = [name for name in names if name not in policy.columns or not policy.column(name).is_released]
    return [Check(name="identifiers_absent", passed=not stray, observed=len(stray), required=0)]


def _clear_checks(source: DeclaredSource, spool: Path, schema: pa.Schema) -> tuple[Check, ...]:
    """Look at the columns that are shown as they are once more, in the written file."""
    names = [name for name in source.clear_names if name in schema.names]
    allowed = [name for name in names if source.policy.column(name).release_as_is]
    return look_at_unchanged(spool, names, allowed=allowed).checks


def _refuse_broken(checks: Sequence[Check], helped: Collection[Check]) -> None:
    """Refuse a draft with its first broken check; some are helped by asking for less, others by no parameter."""
    broken = [check for check in checks if not check.passed]
    if broken:
        first = broken[0]
        raise GuaranteeError(
            f"the promise does not hold on the output: {first.name} is {first.observed}, {first.required} was required",
            "nothing was written; "
            + ("ask for less, or allow more suppression" if first in helped else "this is a defect of the method"),
        )


def _as_written(
    promise: Guarantee, draft: Draft, spool: Path, policy: Policy
) -> tuple[Draft, frozenset[str], pa.Schema]:
    """Describe a draft as its table is; return it, the columns that are not released, and the schema to count."""
    schema = draft.data.schema
    hidden = _hidden(draft, policy) & set(schema.names)
    if promise.counted_classes is None:
        return draft, hidden, schema
    written = as_written(draft, spool, policy)
    return written.draft, frozenset({*written.constant, *hidden}), written.schema


def _hidden(draft: Draft, policy: Policy) -> frozenset[str]:
    """Return the columns of a draft that are never released: whose its rows are, and which of them come first."""
    return whose(policy) | ({draft.first} if draft.first is not None else frozenset())


def whose(policy: Policy) -> frozenset[str]:
    """Return the columns of a draft that say whose its rows are: they are counted, and never released."""
    unit = () if policy.unit is None else (policy.unit,)
    return frozenset((*unit, *(candidate.key for candidate in policy.candidates)))
