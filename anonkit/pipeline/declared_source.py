# SPDX-License-Identifier: Apache-2.0
"""The source as the policy declares it: opened, a role for every column, the promise stated, the cells settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from typing import Any

import pyarrow as pa

from anonkit.bundle.private_files import PrivateFolder
from anonkit.drafting.clear_columns import ClearColumns, look_at_clear
from anonkit.drafting.found_forms import FoundForms, read_by_forms
from anonkit.drafting.guessed_target import TargetGuess, guess_target
from anonkit.drafting.profiling import Undeclared, judge_undeclared
from anonkit.drafting.row_constraints import broken_rules
from anonkit.drafting.table_domains import with_domains_of
from anonkit.drafting.whose_rows import candidates_for_person, come_in_runs, with_keys_by_structure
from anonkit.engines.reading.declared_tables import declared_table, with_unit
from anonkit.engines.snapshots.addresses import address_of
from anonkit.engines.snapshots.dispatch import Snapshot, is_read_in_place
from anonkit.errors import AnonkitError, ChoiceError, ParameterError, PolicyError, option
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.ledger.earlier_releases import RequestForm
from anonkit.ledger.intersection_check import SourceRows
from anonkit.pipeline.derived_columns import refuse_taken_name, with_surrogate_entries
from anonkit.pipeline.output_measures import ReleasedRows, SourceCounts, owner_measures
from anonkit.pipeline.recipe_sources import FlatView, SeveralTables, flat_view
from anonkit.pipeline.request_form import ReleaseRequest, request_form
from anonkit.pipeline.search_for_keys import draft_for_keys
from anonkit.pipeline.whole_types import with_whole_types
from anonkit.policy.column_declarations import Role
from anonkit.policy.constraints import refuse_strange_constraints
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.places import outlines
from anonkit.policy.publication import refuse_strange_keys
from anonkit.promises.guarantee import Guarantee
from anonkit.promises.noise_promises import after_a_look
from anonkit.protocols import Draft, Engine, Method, Source
from anonkit.randomness import Randomness
from anonkit.redaction import source_names
from anonkit.report.blocks import ReportColumn


@dataclass(frozen=True, kw_only=True, eq=False)
class DeclaredSource:
    """A table that may be released: every column has a role, and its promise is stated."""

    name: str
    """Default name of its dataset: the name of the file, without what is secret in an address."""
    file: str
    """The same with all of the file's name, or the address, for the owner."""
    rows: SourceRows
    """As they were read, for the ledger."""
    columns: pa.Schema
    """Names and types of its columns, as they were read first."""
    promise: Guarantee
    undeclared: Undeclared
    """Columns that nobody declared, as they were judged."""
    notes: Sequence[str]
    """Notes for the owner on roles that nobody declared."""
    joined: Mapping[str, Any]
    """Match of several tables, for the owner; empty where there is one."""
    reading_notes: Sequence[str] = ()
    """Notes for the owner on how it was read."""
    grouped: Sequence[str] | None = ()
    """Columns of text files in which a point may separate thousands; None where numbers have a decimal comma."""
    snapshot: Snapshot | None = None
    """Knows whether what it was read from has changed."""
    failure: Exception | None = None
    """Failure after domains had been drawn from the table: to be charged before it is raised."""

    @property
    def policy(self) -> Policy:
        """The policy with a role for every column."""
        return self.rows.policy

    @property
    def refusal(self) -> Exception | None:
        """Refusal that follows from draws that were made: to be charged before it is raised."""
        if self.failure is not None:
            return self.failure
        found = self.policy.found_domains
        if found is None or found.undecided is None:
            return None
        advice = f"declare domains in the policy, or give a larger {option('epsilon')} or {option('delta')}"
        return PolicyError(found.undecided, found.advice or advice)

    @property
    def engine(self) -> Engine:
        """The engine that reads the table."""
        return self.rows.engine

    @property
    def table(self) -> Source:
        """The same rows with their cells as the policy declares them: what the method is given."""
        return self._declared[0]

    @cached_property
    def _declared(self) -> tuple[Source, Mapping[str, Any]]:
        """The table, and the counts of its cells against their declaration; nothing is read before its first use."""
        return declared_table(
            self.rows.table, self.policy, self.engine, taken=self.undeclared.taken, grouped=self.grouped
        )

    @property
    def clear_names(self) -> list[str]:
        """Columns that the release will show as they are: all but quasi-identifiers, or those that the promise lists.

        None under central differential privacy, where nothing leaves as it is.
        """
        if self.promise.counted_classes is None or self.promise.loss() is not None:
            return [str(name) for name in self.promise.to_dict()["parameters"].get("clear", ())]
        return list(self.policy.names(Role.TARGET, Role.SENSITIVE, Role.INSENSITIVE))

    @cached_property
    def clear(self) -> ClearColumns:
        """Findings in these columns, and in no other one under a promise that lets no cell decide."""
        known = () if self.policy.cell_by_cell else self.policy.quasi_identifiers
        return look_at_clear(self.table, self.clear_names, known, self.engine)

    def request_form_of(self, request: ReleaseRequest) -> RequestForm:
        """Return the request on the table, in its canonical form."""
        return partial(request_form, request, self.columns, self.engine)

    def drafted(self, request: ReleaseRequest, randomness: Randomness) -> Draft:
        """Return the draft of the method, the columns that were taken for identifiers marked in it."""
        method, keys = request.method, self.policy.keys

        def made(one: Method) -> Draft:
            return one.release(self.table, self.policy, engine=self.engine, rng=randomness, progress=request.progress)

        has_keys = isinstance(method, AnonymityModel) and bool(keys)
        refuse_taken_name(self.policy)
        draft = draft_for_keys(method, keys, self.engine, made) if has_keys else made(method)  # type: ignore[arg-type]
        draft = with_surrogate_entries(draft, self.policy)
        return replace(
            draft,
            columns=self.clear.marked(self._marked(draft.columns), self.policy),
            published={**draft.published, **_public_cells(self.policy)},
        )

    def _marked(self, columns: Iterable[ReportColumn]) -> list[ReportColumn]:
        """Return the `columns` block with what came about without a declaration: identifiers and the target."""
        marked = self.undeclared.marked(columns)
        declared = self.policy.target_is_declared
        persons = self._may_be_persons
        return [
            {**entry, "declared": declared}
            if entry["role"] == Role.TARGET
            else {**entry, "may_be_person": True}
            if entry["name"] in persons
            else entry
            for entry in marked
        ]

    @property
    def _may_be_persons(self) -> tuple[str, ...]:
        """Identifiers under a promise of noise for one row, where no unit is declared; no cell decides."""
        policy = self.policy
        if self.promise.loss() is None or policy.unit is not None or policy.independent_rows:
            return ()
        made = [column.place.columns for column in policy.columns.values() if column.place is not None]
        return tuple(name for name in policy.names(Role.IDENTIFIER) if not any(name in columns for columns in made))

    def counts(self, randomness: Randomness | None) -> SourceCounts | None:
        """Return the counts that its figures need; without `randomness` no model is trained on it."""
        return SourceCounts.of(self.promise, self.table, self.engine, self.policy, randomness)

    def figures(
        self, of_method: Mapping[str, Any], released: ReleasedRows | None, counts: SourceCounts | None
    ) -> dict[str, Any]:
        """Return the figures of the source: its unusable cells, those of the method, and what the release leaves of it.

        Privacy
        -------
        Covered by no promise: for the owner alone.
        """
        broken = broken_rules(self.policy, partial(self.engine.add_up, self.table))
        reading = [*self.reading_notes, *self._declared[1].get("reading_notes", ())]
        return {
            **self.joined,
            **self._declared[1],
            **({"reading_notes": reading} if reading else {}),
            **of_method,
            **({"rows_breaking_rules": broken} if broken else {}),
            **owner_measures(self.promise, self.table, self.engine, self.policy, released, counts),
        }


def declared_source(
    source: object, request: ReleaseRequest, declared: Policy, engine: Engine, private: PrivateFolder
) -> DeclaredSource:
    """Open a source, settle the role of every column, state the promise, and settle the cells.

    Undeclared columns are judged by their cells only where no promise of differential privacy without a condition
    would depend on it: there every column that is used is declared, and no cell is read by the type of its column.
    Domains that are read from the table are found by types; the table is read once more then.

    Parameters
    ----------
    source : path, address or table
    declared : Policy
        That of `request.declared()`.
    private : PrivateFolder
        Where a source that may change or end is copied to.

    Raises
    ------
    SourceError
        It cannot be read as a table.
    PolicyError, ParameterError
        The policy contradicts the table or the method.
    """
    declared = declared.counting_households(whole=isinstance(request.method, AnonymityModel))
    (name, file), method, min_people = source_names(source), request.method, request.domains_min_people
    _refuse_to_keep(declared, method)
    _refuse_keys(declared, method)
    finds = min_people is not None and getattr(method, "delta", 0) > 0 and hasattr(method, "with_found_domains")
    if finds:  # privately: nothing is judged or typed by the cells
        declared, min_people = replace(declared, cell_by_cell=True), None
    view = None
    if isinstance(source, SeveralTables):
        view = flat_view(source, declared, engine, private)
        source, (name, file) = view.path, view.names
    snapshot = Snapshot(source=source, private=private)
    table = snapshot.scan(engine, declared)
    forms = FoundForms()
    if not declared.cell_by_cell and min_people is None:
        forms, table = read_by_forms(table, declared, engine)
        declared = forms.declared(declared)
    schema = table.schema
    columns, by_cell = schema.names, table
    unknown = [] if declared.cell_by_cell else [column for column in columns if not declared.declares(column)]
    undeclared = _judged(table, unknown, engine, view)
    seeks_unit = isinstance(method, AnonymityModel) and declared.unit is None and not declared.independent_rows
    if seeks_unit:
        undeclared = with_keys_by_structure(table, undeclared, engine)
    noisy = declared.cell_by_cell or min_people is not None
    if not noisy:
        _refuse_protected(declared)
    known = undeclared.declared(declared)
    guess = None if noisy else _guessed(table, declared, undeclared, method, engine)
    policy = _with_guess(known, guess, method).resolve(columns, target_use=method.target_use)
    if isinstance(method, AnonymityModel):
        policy = policy.with_rounded_weights_known()
    if seeks_unit and (undeclared.profiles or policy.names(Role.IDENTIFIER)):
        earlier = getattr(method, "candidates", ())
        policy = replace(policy, candidates=candidates_for_person(table, policy, undeclared, engine, earlier))
    if seeks_unit and unknown and not policy.candidates:
        policy = replace(policy, rows_in_runs=come_in_runs(table, policy, engine))
    refuse_strange_constraints(request.policy.constraints, policy.columns)
    refuse_strange_keys(policy.keys, [*columns, *policy.columns], policy.quasi_identifiers)
    if min_people is not None:
        policy = replace(policy, identifiers_from_data=tuple(undeclared.taken))
        policy = with_domains_of(policy, with_unit(table, policy, engine), engine, min_people)
        once = isinstance(source, pa.RecordBatchReader)
        by_cell = table if once else snapshot.scan(engine, replace(policy, cell_by_cell=True))
        undeclared = undeclared.with_rare(policy.identifiers_from_data)
    if noisy:
        policy = with_whole_types(policy, by_cell.schema, source)
    if hasattr(method, "check_cells"):
        method.check_cells(method.with_domains_to_find(policy) if finds else policy)  # type: ignore[attr-defined]
    failure: Exception | None = None
    if finds and request.output.dry_run:  # a plan is not charged: nothing is drawn for it
        policy = method.with_domains_to_find(policy)  # type: ignore[attr-defined]
        policy, promise = _promised(method, policy)
    elif finds:
        randomness = request.randomness().child("finding")
        try:
            keyed = with_unit(table, policy, engine)
            found = method.with_found_domains(policy, keyed, engine, randomness)  # type: ignore[attr-defined]
            table = table if isinstance(source, pa.RecordBatchReader) else snapshot.scan(engine, found)
            policy, promise = _promised(method, found)
        except Exception as failed:  # once something was drawn it may follow from it, whatever it says
            if not randomness.draws:
                raise
            failure, promise = failed, method.approximate_promise(policy)  # type: ignore[attr-defined]
    else:
        policy, promise = _promised(method, policy)
    if min_people is not None:
        if not promise.cell_by_cell:
            raise ParameterError(
                f"method {method.name!r} needs no public domains", f"leave {option('domains_from_data')} out"
            )
        policy, table = replace(policy, cell_by_cell=True), by_cell
    _refuse_keys(policy, method, promise)
    return DeclaredSource(
        name=name,
        file=file,
        rows=SourceRows(table=table, engine=engine, policy=policy),
        columns=schema,
        promise=promise,
        undeclared=undeclared,
        notes=[
            *forms.notes(),
            *_target_notes(guess, policy),
            *_rules_left(request.policy, policy),
            *undeclared.notes(policy),
            *_finding_notes(policy),
        ],
        joined={} if view is None else view.owner,
        reading_notes=snapshot.notes if view is None else view.reading_notes,
        grouped=snapshot.grouped_by(declared) if view is None else view.grouped,
        snapshot=snapshot,
        failure=failure,
    )


def refuse_unknown_columns(source: object, request: ReleaseRequest) -> None:
    """Refuse to declare a column that the source does not have; for a policy under which nothing can be promised.

    The names of columns are public, and no cell decides. Nothing is copied for it: sources that are not opened where
    they are stay alone, as is what cannot be read.

    Raises
    ------
    PolicyError
        A declared column is not in the table.
    """
    live = isinstance(source, str | PathLike) and not is_read_in_place(address_of(source))
    if not request.policy.columns or live or isinstance(source, SeveralTables):
        return
    try:
        with closing(PrivateFolder()) as private, request.engine.opened() as engine:
            table = Snapshot(source=source, private=private).scan(engine, replace(request.policy, cell_by_cell=True))
            names = table.schema.names
    except AnonkitError:
        return
    request.policy.refuse_unknown(names)


def _rules_left(declared: Policy, policy: Policy) -> Iterator[str]:
    """Yield a note on rules and spikes of the policy that a noise method does not keep."""
    if not policy.cell_by_cell:
        return
    if declared.constraints and not policy.constraints:
        yield "Rows may break the [[constraints]] of the policy: dp-marginals, dp-forest and dp-nb keep them."
    lost = [name for name, column in declared.columns.items() if column.spikes and not policy.column(name).spikes]
    if lost:
        names = ", ".join(lost)
        yield f"The spikes of {names} are no cells of their own here: dp-marginals, dp-forest and dp-nb have them."


def _promised(method: Method, policy: Policy) -> tuple[Policy, Guarantee]:
    """Return the promise of a method; where domains were found with which it has none, the policy declares so.

    A refusal of what was found is an outcome of the draws that found it: they are charged before it is raised. A
    promise of noise is about one table, whose choices were made without it: where they were not, it says so.
    """
    declared, promise = _claimed(method, policy)
    return declared, after_a_look(promise) if policy.looked_at_table else promise


def _claimed(method: Method, policy: Policy) -> tuple[Policy, Guarantee]:
    """Return the promise of a method, and the policy that it is about."""
    found = policy.found_domains
    if found is None:
        return policy, method.guarantee(policy)
    if found.undecided is None and not found.is_plan:
        try:
            return policy, method.guarantee(policy)
        except (PolicyError, ParameterError) as refusal:
            policy = replace(policy, found_domains=found.refused_by(refusal))
    return policy, method.approximate_promise(policy)  # type: ignore[attr-defined]


def _judged(table: Source, unknown: Sequence[str], engine: Engine, view: FlatView | None) -> Undeclared:
    """Judge the columns that nobody declared; those of joined tables each in its own."""
    if not unknown:
        return Undeclared()
    return judge_undeclared(table, unknown, engine) if view is None else view.judged(unknown, engine)


def _public_cells(policy: Policy) -> dict[str, Any]:
    """Return the mapping of dates, times and places to the public bins that a policy declares for differential privacy.

    Of places also the centre and the bounds of every cell; of numbers how they are written, where that is declared. A
    function of the policy alone.
    """
    if not policy.cell_by_cell:
        return {}
    read: dict[str, Any] = {}
    for name, column in policy.columns.items():
        declared, key = (column.place, "place") if column.place is not None else (column.calendar, "calendar")
        if column.is_released and column.has_bins and declared is not None:
            outside = {} if column.outside is None else {"outside": str(column.outside)}
            read[name] = {key: {**declared.stated_bins.to_params(), **outside}}
    written = {
        name: column.number_form.to_params()
        for name, column in policy.columns.items()
        if column.is_released and column.number_form is not None
    }
    return {
        **({"binned": read} if read else {}),
        **({"written": written} if written else {}),
        **_outlined(policy),
    }


def _outlined(policy: Policy) -> dict[str, Any]:
    places = {name: column for name, column in policy.columns.items() if column.place is not None}
    if not places:
        return {}
    bins = {name: column.bins for name, column in places.items() if column.is_released}
    return {
        "places": {
            name: outlines(sorted({cell for path in each.paths for cell in path}))
            for name, each in bins.items()
            if each
        }
    }


def _finding_notes(policy: Policy) -> list[str]:
    """Return notes on columns without a domain, which are not released; an outcome of the draws that were charged."""
    left_out = () if policy.found_domains is None else policy.found_domains.left_out
    return [
        f"Column {name!r} is not released: nothing in it stands out from the noise of the search for its domain."
        for name in left_out
    ]


def _refuse_to_keep(policy: Policy, method: Method) -> None:
    """Refuse columns to be kept where the method does not count what it releases of a column.

    Raises
    ------
    ChoiceError
        The method is no k-anonymous one.
    """
    if policy.kept and not isinstance(method, AnonymityModel):
        raise ChoiceError(
            f"column {policy.kept[0]!r} is to be kept: {method.name!r} does not promise parts of a column",
            f"leave {option('keep')} out, or take a k-anonymous method such as rfka or mondrian",
        )


def _refuse_keys(policy: Policy, method: Method, promise: Guarantee | None = None) -> None:
    """Refuse keys with a k of their own where nobody counts them.

    Parameters
    ----------
    promise : Guarantee, optional
        Of this method, once it is known; it has to say every key.

    Raises
    ------
    ChoiceError
        The method is no k-anonymous one, its promise does not say the keys, or people are counted.
    """
    if not policy.keys:
        return
    classes = None if promise is None else promise.counted_classes
    has_all_keys = promise is None or (classes is not None and len(classes.keys) == len(policy.keys))
    if not isinstance(method, AnonymityModel) or not has_all_keys:
        raise ChoiceError(
            f"the policy has keys with a k of their own: {method.name!r} does not promise them",
            "leave keys out, or take a k-anonymous method such as rfka or mondrian",
        )
    if policy.unit is not None:
        raise ChoiceError(
            f"people are counted by column {policy.unit!r}: nobody could recount those of a key with a k of its own",
            "leave keys out, or ask for a larger k of all quasi-identifiers",
        )


def _refuse_protected(policy: Policy) -> None:
    """Refuse to release a column as it is to which no role is given under which it would be.

    Raises
    ------
    ChoiceError
        There is one.
    """
    for name, column in policy.columns.items():
        if column.release_as_is and column.role is Role.QUASI_IDENTIFIER:
            raise ChoiceError(
                f"column {name!r} is to be released as it is, and no role says that it is released so",
                f"{option('insensitive', [name])}, {option('sensitive', [name])} or {option('target', name)}",
            )


def _guessed(
    table: Source, policy: Policy, undeclared: Undeclared, method: Method, engine: Engine
) -> TargetGuess | None:
    """Return the guess on the last column without a role; None where a target is declared, or none is wanted."""
    if policy.target is not None or policy.without_target or method.target_use is TargetUse.AS_DECLARED:
        return None
    return guess_target(table, policy, undeclared.taken, engine)


def _with_guess(policy: Policy, guess: TargetGuess | None, method: Method) -> Policy:
    """Return the policy with the target that was guessed, or without one.

    Raises
    ------
    ChoiceError
        The method needs one.
    """
    if guess is None:
        return policy
    if guess.target is None and method.target_use is TargetUse.REQUIRED:
        raise guess.question(method.name)
    if guess.column is None and method.target_use is TargetUse.OPTIONAL:
        return policy
    return policy.guessing(guess.target)


def _target_notes(guess: TargetGuess | None, policy: Policy) -> list[str]:
    """Return notes on a target that nobody named, or on why there is none."""
    if guess is not None:
        return guess.notes()
    if policy.target is None or policy.target_is_declared:
        return []
    if not policy.cell_by_cell:
        return [f"Target {policy.target!r}: guessed, released unchanged, as in the earlier release."]
    return [
        f"Target {policy.target!r}: taken by its place, the last column of which nothing is declared; "
        f"{option('target', 'NAME')} names another one."
    ]
