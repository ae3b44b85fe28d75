# SPDX-License-Identifier: Apache-2.0
"""Measurements on a release: the promise recounted, and the utility of the source and the released table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.data_files import count_rows, iter_batches
from anonkit.checks.class_promise import looked_at
from anonkit.checks.counted_as import ReadValues
from anonkit.checks.disclosure import Disclosure, fewest_alike, fewest_values, measure, rarest_of_keys
from anonkit.checks.people import PeopleCounts
from anonkit.checks.promise_checkers import draft_checks
from anonkit.checks.scored_rows import KEY, PREDICTION, features_of, prediction_of_first_rows, rows_to_score
from anonkit.errors import GuaranteeError, InternalError, ReleaseFormatError
from anonkit.k_anonymity.held_out_labels import held_out_labels, one_row_each
from anonkit.k_anonymity.recoded_rows import has_classes, people_of, recoded_sample
from anonkit.methods import METHODS
from anonkit.pipeline.suppression import CountedTable, by_quarter, left_out_by_class
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.target_task import Task, task_of_params
from anonkit.promises.anonymous_classes import ALL_ROWS, KAnonymity
from anonkit.promises.guarantee import Check, Guarantee
from anonkit.protocols import ClassSizes, Draft, Engine, Recodes, Source, counted_later
from anonkit.randomness import Randomness
from anonkit.utility.class_utility import SAMPLE, RowsAsReleased, pair_marginals, prediction_for_all_rows
from anonkit.utility.number_utility import number_for_all_rows

NOT_MEASURED = "not measured"
"""Value in a report in place of the scores of a model that was not trained."""
_SAMPLE_STREAM = "utility"
"""Name of the draw of the rows that models are trained on."""


def recount(
    classes: KAnonymity,
    data: Path,
    schema: pa.Schema,
    policy: Policy,
    draft: Draft,
    *,
    people: PeopleCounts | None = None,
) -> Disclosure:
    """Count the released cells anew.

    Parameters
    ----------
    classes : KAnonymity
        What the promise states of equivalence classes (`Guarantee.counted_classes`).
    policy : Policy
        Names the target, for which the classes of one value are counted, columns that may be known besides, and
        candidates whose keys may be in the table.
    draft : Draft
        Its params state what counts as a sensitive value.
    people : PeopleCounts, optional
        The people of a table whose unit column is gone already.
    """
    target, there = policy.target, set(schema.names)
    recursive = classes.diversity.recursive
    names = [name for name in classes.quasi_identifiers if name in schema.names]
    found = measure(
        data,
        names,
        sensitive=[name for name in classes.sensitive if name in schema.names],
        missing_is_value=classes.missing_is_value,
        unit=classes.unit if people is None else None,
        people=people,
        recursive=(2, 3) if recursive is None else tuple(sorted({2, 3, recursive[1]})),
        target=target if target in schema.names else None,
        reading=ReadValues.of_release(draft.params, draft.rows) if classes.sensitive else ReadValues(),
        **looked_at(classes, schema.names, target, policy.names(Role.INSENSITIVE, Role.WEIGHT)),
    )
    values = {one.columns: fewest_values(data, names, one.key) for one in policy.candidates if one.key in there}
    keys = rarest_of_keys(data, (key.columns for key in classes.keys), schema.names)
    found = replace(found, candidates=values, keys=keys)
    if classes.rows_known != ALL_ROWS or classes.unit is None or people is not None:
        return found
    return replace(found, alike=fewest_alike(data, names, classes.unit))


def answer_checks(
    promise: Guarantee, data: Path, draft: Draft, method: Mapping[str, Any], unit: str | None
) -> list[Check]:
    """Check a draft against its own parameters, by the checker of its promise.

    Parameters
    ----------
    method : mapping
        The `method` block of the report.
    unit : str, optional
        Unit column, which is taken out of the draft before anything is written.

    Raises
    ------
    InternalError
        A check finds the draft damaged, or its arithmetic fails: no other program has written the draft.
    GuaranteeError
        The same of the draft of a method of somebody else.
    """
    report: dict[str, Any] = {
        **draft.blocks,
        "method": method,
        "guarantee": promise.to_dict(),
        "columns": draft.columns,
    }
    try:
        return list(draft_checks(data, draft.params, report, unit=unit))
    except ReleaseFormatError as damage:
        cause = damage.__context__
        if isinstance(cause, OSError | pa.ArrowException):  # the draft's file could not be read back
            raise
        if method["name"] not in METHODS:  # the author of the method mends it, with the words for whoever reads files
            raise GuaranteeError(
                f"the promise of method {method['name']!r} cannot be checked: {damage.message}; nothing was written",
                damage.hint,
            ) from None
        raise InternalError.of(cause or damage) from None


def release_utility(
    spool: Path, schema: pa.Schema, policy: Policy, counted: Disclosure | None, draft: Draft | None, files: Engine
) -> dict[str, Any]:
    """Measure the utility of the released table, from the released table alone.

    No figure of prediction is stated where the search has seen the labels of all rows, nor where a person has several
    rows: the first rows could only be those of some people, all of each, and their order would then disclose which
    rows are not of one person (`anonkit.k_anonymity.held_out_labels`).

    Parameters
    ----------
    spool : path
        The draft as it was written, rows whose labels no search saw first.
    schema : Schema
        Columns that are counted or released; those of one value are not.
    draft : Draft, optional
        Says which rows come first; without it no model is trained.
    files : Engine
        Reads the draft.
    """
    if counted is None:
        return {}
    out: dict[str, Any] = {
        "discernibility": sum(size * size * classes for size, classes in counted.class_sizes),
        "average_equivalence_class_size": counted.rows / counted.classes if counted.classes else None,
    }
    if policy.target is None or policy.target not in schema.names:
        return out
    if draft is None or draft.labels_seen or not one_row_each(files.scan(spool, Policy()), policy.unit, files):
        return {**out, PREDICTION: NOT_MEASURED}
    scored = rows_to_score(count_rows(spool)) if draft.first is None else _rows_marked(spool, draft.first)
    is_number = policy.task is Task.REGRESSION
    names = features_of(schema, policy.quasi_identifiers)
    scores = prediction_of_first_rows(spool, names, policy.target, scored, of_number=is_number)
    return out if scores is None else {**out, KEY: scored, PREDICTION: scores}


def _rows_marked(spool: Path, mark: str) -> int:
    """Return the number of marked rows, `SAMPLE` at most: they are the first."""
    n_marked = 0
    with closing(iter_batches(spool, [mark], batch_rows=SAMPLE)) as batches:
        for batch in batches:
            marked = batch.column(mark).true_count
            n_marked += marked
            if marked < batch.num_rows or n_marked >= SAMPLE:
                break
    return min(n_marked, SAMPLE)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedRows:
    """The rows of a release, for measures of what it leaves of its source."""

    rows: Source
    """The draft as it was written, the unit column still in it; or the content of a file, without it."""
    files: Engine
    """Reads them."""
    applied: Recodes
    """The recoding that made them."""
    names: Sequence[str]
    """Quasi-identifiers that it recodes."""
    shown: Sequence[str]
    """Those of them that are published: columns that turned out to have one value are not."""
    params: Mapping[str, Any]
    """Published facts of it beside the rows."""
    marked: bool = False
    """True where the rows that `SourceCounts.mark` marks are those whose labels the search has not seen."""
    labels_seen: bool = True
    """True where a search may have seen the labels of all rows."""

    @property
    def classes(self) -> pa.Table:
        """The released equivalence classes, one row each."""
        return self.files.count_sets(self.rows, [tuple(self.names)])[0] if self.names else pa.table({})


@dataclass(frozen=True, kw_only=True, eq=False)
class SourceCounts:
    """The counts of the source for an owner's measures that no release changes: in parallel to a method's search."""

    class_sizes: Callable[[], ClassSizes]
    of_target: Callable[[], pa.Table] | None
    """The rows of every class of a target that has classes by its type."""
    sample_rows: Callable[[], Source] | None
    """The rows that models are trained on; None where none is trained."""
    mark: str | None = None
    """Column of these rows that marks those whose labels are hidden from a search that does not see all."""

    @classmethod
    def of(
        cls, promise: Guarantee, table: Source, engine: Engine, policy: Policy, randomness: Randomness | None
    ) -> SourceCounts | None:
        """Return the counts to make; None where the promise is not about equivalence classes.

        Parameters
        ----------
        table : Source
            Its cells as declared: units are keys of people already.
        randomness : Randomness, optional
            Draws the rows that models are trained on; without it none is trained.
        """
        classes, target = promise.counted_classes, policy.target
        if classes is None:
            return None
        names, k, unit = classes.quasi_identifiers, classes.k, classes.unit
        sizes = counted_later(engine, lambda: engine.class_sizes(table, names, k, unit))
        of_target = None
        if target is not None and has_classes(table.schema.field(target).type):
            of_target = counted_later(engine, lambda: engine.count_sets(table, [(target,)])[0])
        if randomness is None:
            return cls(class_sizes=sizes, of_target=of_target, sample_rows=None)
        marked, mark = (table, None) if target is None else held_out_labels(table, policy, engine, randomness)
        sample_rows = counted_later(engine, lambda: engine.sample(marked, SAMPLE, randomness.child(_SAMPLE_STREAM)))
        return cls(class_sizes=sizes, of_target=of_target, sample_rows=sample_rows, mark=mark)


def owner_measures(
    promise: Guarantee,
    table: Source,
    engine: Engine,
    policy: Policy,
    released: ReleasedRows | None,
    counts: SourceCounts | None,
) -> dict[str, Any]:
    """Measure the source, and its loss in the release: for the owner alone.

    Parameters
    ----------
    table : Source
        Its cells as declared: units are keys of people already.
    released : ReleasedRows, optional
        None where equivalence classes are not what the promise is about.
    counts : SourceCounts, optional
        Counts of the table whatever the release is; None where `released` is, and where nobody is shown them.
    """
    classes = promise.counted_classes
    if classes is None or released is None or counts is None:
        return {}
    policy = replace(policy, task=task_of_params(released.params))
    before = counts.class_sizes()
    sizes = dict(before.histogram)
    source = {"rows": before.rows, "classes": before.classes, "k": before.smallest, "uniques": sizes.get(1, 0)}
    measures: dict[str, Any] = {"source": source}
    known = list(classes.quasi_identifiers)
    target, unit, columns_there = policy.target, policy.unit, released.rows.schema.names
    if target is not None and target in columns_there:
        counted = unit if unit in columns_there else None
        files, measured, of_target = released.files, (table, released.rows), counts.of_target
        if policy.task is Task.REGRESSION:
            measured, of_target = by_quarter(engine, table, files, released.rows, target), None
        read = CountedTable(engine=engine, rows=measured[0], counted=of_target)
        lost = left_out_by_class(read, CountedTable(engine=files, rows=measured[1]), target, counted)
        measures |= {} if lost is None else {"rows_left_out": lost}
        if counts.sample_rows is not None:
            columns = [*known, target, *([] if unit is None else [unit])]
            mark = counts.mark if released.marked else None
            rows = _rows(counts.sample_rows(), columns if mark is None else [*columns, mark])
            return {**measures, "utility_of_source": {}, **_of_target(rows, known, target, policy, released, mark)}
    if counts.sample_rows is None:
        return measures
    rows = _rows(counts.sample_rows(), [*known, *([] if unit is None else [unit])])
    recoded = recoded_sample(rows, policy, released.applied, released.classes, released.shown)
    joint = pair_marginals(rows.select(known), recoded.table, recoded.released)
    return {**measures, "utility_of_source": {}, **({} if joint is None else {"joint_distribution": joint})}


def _of_target(
    rows: pa.Table, known: Sequence[str], target: str, policy: Policy, released: ReleasedRows, mark: str | None
) -> dict[str, Any]:
    """Measure on rows of the source how well the target is predicted before and after; see `SourceCounts.mark`."""
    unseen = None
    if mark is not None:
        unseen, rows = rows.column(mark).to_numpy(), rows.drop_columns([mark])
    recoded = recoded_sample(rows, policy, released.applied, released.classes, released.shown)
    of_number = policy.task is Task.REGRESSION
    found = (number_for_all_rows if of_number else prediction_for_all_rows)(
        rows,
        known,
        target,
        RowsAsReleased(table=recoded.table, released=recoded.released, placed=recoded.placed),
        people_of(rows, policy.unit),
        unseen=unseen,
        maybe_seen=released.labels_seen,
    )
    if found is None:
        return {}
    beside = "of_mean" if of_number else "majority"
    of_source = {key: found[key] for key in ("model", "protocol", beside)} | found["from_source"]
    return {"utility_of_source": {"prediction_of_target": of_source}, "prediction_for_all_rows": found}


def _rows(sampled: Source, columns: list[str]) -> pa.Table:
    """Return the rows that models are trained on; a table that is released has some."""
    return pa.Table.from_batches(list(sampled.batches(columns)))
