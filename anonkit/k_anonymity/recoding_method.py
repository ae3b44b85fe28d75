# SPDX-License-Identifier: Apache-2.0
"""The one release path of all k-anonymous methods; a method itself writes the search for a recoding.

The steps: rows that the policy leaves out or refuses are counted on the whole table; a table too large for memory is
sampled; its quasi-identifiers are coded (`preparing`); the method searches a recoding; the recoding is applied to the
whole table, and classes that break the model are left out (`recoded_draft`).

Large tables: the recoding is searched on a keyed sample, extended to unseen values, and recounted on all rows.

A recoding whose classes hold k rows of a sample has classes of at least k rows in the table. Only combinations that
the sample hardly shows can be too small: they are counted by the engine, and their rows are left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import ClassVar

from anonkit.errors import ChoiceError, GuaranteeError, PolicyError, option
from anonkit.k_anonymity.contribution_bounds import bounded_contributions
from anonkit.k_anonymity.held_out_labels import LEAST, held_out_labels, one_row_each
from anonkit.k_anonymity.numbers_in_groups import GroupedRecoding
from anonkit.k_anonymity.preparing import Preparation, Prepared, prepare
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_draft import draft_recoded, unkept
from anonkit.k_anonymity.recoded_rows import count_usable_rows
from anonkit.k_anonymity.sensitive_rules import settled_rules
from anonkit.policy.declaration import Policy
from anonkit.policy.survey_weights import ShownWeights
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import (
    Draft,
    Engine,
    Progress,
    Source,
    counting_beside,
    is_too_large,
    no_progress,
    sample_to_search,
)
from anonkit.published.recoding import (
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    Recoding,
    UnchangedAxis,
    unique_labels,
)
from anonkit.randomness import Randomness
from anonkit.report.blocks import ColumnFacts, Json, JsonObject


def searched_rows(source: Source, engine: Engine, rng: Randomness, progress: Progress) -> Source:
    """Return the table itself, or a keyed sample of its rows where it is too large for memory."""
    if not is_too_large(source, engine):
        return source
    progress("drawing a sample", 0.0)
    return sample_to_search(source, engine, rng.child("search"))


def sample_details(sample: Source, source: Source) -> dict[str, Json]:
    """Return the entry about the sample in the report."""
    return {
        "rows": sample.n_rows,
        "of": source.n_rows,
        "how": "keyed by row number, each row alike; the search saw these rows only",
        "effect": "importances and cuts are those of the sample: their ranks move by chance where they are close; "
        f"classes hold about {source.n_rows / sample.n_rows:.3g} times as many rows as k requires",
    }


def sample_note(sample: Source, source: Source) -> str:
    """Describe the number of rows on which the detail was chosen."""
    return f"The detail was chosen on {sample.n_rows:,} of {source.n_rows:,} rows."


def opened(recoding: Recoding) -> Recoding:
    """Return the recoding with a place for values, and for missing, that the sample it was found on did not have.

    In a global recoding they are groups of their own; in a local one they go right at every cut.
    """
    if isinstance(recoding, GlobalRecoding):
        return GlobalRecoding(columns=tuple(_opened_column(column) for column in recoding.columns))
    axes = tuple(_opened_axis(axis) for axis in recoding.axes)
    nodes = []
    for node in recoding.nodes:
        if node is not None:
            old, new = recoding.axes[node.axis], axes[node.axis]
            left = tuple(new.size - 1 if old.has_missing and part == old.size - 1 else part for part in node.left)
            node = replace(node, left=left)
        nodes.append(node)
    return LocalRecoding(axes=axes, nodes=tuple(nodes))


def _opened_axis(axis: IntervalAxis | CategoryAxis) -> IntervalAxis | CategoryAxis:
    if isinstance(axis, CategoryAxis):
        return replace(axis, has_other=True, has_missing=True)
    return replace(axis, has_missing=True)


def _opened_column(column: UnchangedAxis | Grouping) -> UnchangedAxis | Grouping:
    if isinstance(column, UnchangedAxis):
        return column
    axis, labels = column.axis, list(column.labels)
    missing = labels.pop() if axis.has_missing else None
    groups = _groups(labels)
    if isinstance(axis, CategoryAxis) and not axis.has_other:
        labels, groups = [*labels, axis.other_label], [*groups, len(labels)]
    owners = [*groups, next((g for g, label in zip(groups, labels, strict=True) if label == missing), len(labels))]
    return Grouping(axis=_opened_axis(axis), labels=unique_labels([*labels, missing], owners))


def _groups(labels: Sequence[str | None]) -> list[int]:
    """Return one number a group: the place of its first label."""
    return [labels.index(label) for label in labels]


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchResult:
    """Result of a search: a recoding, with the publishable facts about the way it was found."""

    recoding: Recoding | GroupedRecoding
    column_facts: Mapping[str, ColumnFacts] = field(default_factory=lambda: MappingProxyType({}))
    """Entries of the report on some columns beside their recoding: `reason`, `importance`."""
    details: JsonObject
    """The report's `search` block: `name`, and figures that disclose nothing of single rows."""
    owner: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    """Exact figures of the source behind the recoding, for the owner alone."""
    figures: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    """Others of the owner, under their own names."""


@dataclass(frozen=True, kw_only=True)
class RecodingMethod(AnonymityModel, ABC):
    """A k-anonymous method: a search for a recoding of the quasi-identifiers.

    A subclass is a frozen dataclass of its parameters with `name`, `paper`, `summary`, `target_use` and the method
    `find_recoding`; with a parameter `max_suppression` it may leave rows out, and without one none are.

    Privacy
    -------
    k rows (people) share every released combination of quasi-identifiers, whatever the search returns: its recoding
    is applied to the table, and rows of smaller classes are left out, or the release is refused. What a recoding lists
    and where it cuts is published, so a search must distinguish no more than `Prepared` offers.
    """

    name: ClassVar[str]
    shows_boxes: ClassVar[bool] = False
    """True where rows show boxes, each of its own size, so that no column is shown cell by cell."""

    whole_table: ClassVar[bool] = False
    """True where the search needs every row, however large the table is, and no sample does."""

    search_steps: ClassVar[tuple[str, ...]] = ("searching",)
    """Names of the steps of the search, as progress shows them."""

    def guarantee(self, policy: Policy) -> KAnonymity:
        """State the promise; see `AnonymityModel.guarantee`.

        Raises
        ------
        PolicyError
            Weights are to be rounded by a method that shows them in ranges.
        """
        weight = policy.weight
        if self.shows_boxes and weight is not None and weight.weights is ShownWeights.ROUNDED:
            raise PolicyError(
                f"column {weight.name!r}: method {self.name!r} shows ranges, in which nobody can weigh",
                f'{option("method", "rfka")} shows rounded weights; weights = "mean" those of classes',
            )
        return super().guarantee(policy)

    @property
    def progress_steps(self) -> tuple[str, ...]:
        """Names of the steps of a release, in order, as progress shows them."""
        return ("checking the table", "coding", *self.search_steps, "counting classes")

    @property
    def preparation(self) -> Preparation:
        """Coding of columns for which the policy declares no detail."""
        return Preparation()

    @abstractmethod
    def find_recoding(self, prepared: Prepared, *, rng: Randomness, progress: Progress) -> SearchResult:
        """Find a recoding under which the classes of the prepared rows meet the requirements.

        Raises
        ------
        GuaranteeError
            There is none.
        """

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Search a recoding of the table, or of a keyed sample of it, and draft the release of the whole table.

        Raises
        ------
        GuaranteeError
            The model cannot be reached within the limit of suppression.
        ChoiceError
            It cannot be reached with k different values of what may be the person, and no unit is declared.
        PolicyError
            A quasi-identifier has missing values where the policy allows none, or cells outside its declared domain.

        Privacy
        -------
        A value is listed in the recoding of a sample when k rows of the sample hold it, so k rows of the table do.
        The rows whose labels the search does not see are a secret random draw; see `held_out_labels`.
        """
        try:
            return self._drafted(source, policy, engine=engine, rng=rng, progress=progress)
        except GuaranteeError as failure:
            if not policy.candidates:
                raise
            raise undecided(self.k, policy, failure) from None

    def _drafted(self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress) -> Draft:
        """Return the draft; see `release`."""
        progress("checking the table", 0.0)
        levelled = None
        if policy.person_rows is not None:
            levelled = bounded_contributions(source, policy, engine, self.k, rng.child("rows of people"))
            source = levelled.table
        usable = count_usable_rows(source, policy, engine)
        if policy.sensitive:
            usable = replace(usable, rules=settled_rules(self, source, policy, engine, usable.needed))
        guided, mark = self.preparation.guided and policy.target is not None, None
        sees_all = getattr(self, "all_labels", False) or usable.n_usable < LEAST
        if guided and not sees_all and one_row_each(source, policy.unit, engine, usable.needed):
            source, mark = held_out_labels(source, policy, engine, rng)
        searched = source if self.whole_table else searched_rows(source, engine, rng, progress)
        sampled = searched is not source
        with counting_beside(engine) if sampled else nullcontext():  # a sample is in memory, the other rows wait
            progress("coding", 0.0)
            prepared = prepare(searched, policy, engine, self, self.preparation, usable.rules, mark)
            result = self.find_recoding(prepared, rng=rng, progress=progress)
            found = result.recoding
            refuse_dropped(prepared.kept_columns, found.published if isinstance(found, GroupedRecoding) else found)
        draft = draft_recoded(
            self,
            source,
            replace(policy, task=prepared.task),
            opened(found) if sampled and not isinstance(found, GroupedRecoding) else found,
            engine=engine,
            progress=progress,
            usable=usable,
            column_facts=result.column_facts,
            notes=prepared.notes,
            first=mark,
        )
        draft = draft if levelled is None else levelled.with_contribution_note(draft)
        sample = {"sample": sample_details(searched, source)} if sampled else {}
        return replace(
            draft,
            labels_seen=guided and mark is None,
            details={"search": {**result.details, **sample}},
            owner={
                **draft.owner,
                **({"search": result.owner} if result.owner else {}),
                **result.figures,
                **({} if prepared.owner is None else {"target": prepared.owner}),
            },
            notes=[*draft.notes, sample_note(searched, source)] if sampled else draft.notes,
        )


def refuse_too_many(n_suppressed: int, n_rows: int, limit: int, *, kept_columns: Collection[str] = ()) -> None:
    """Refuse a recoding under which more rows than the limit, or all rows, would be left out.

    Raises
    ------
    GuaranteeError
        For a search that may drop every quasi-identifier but those to be kept: then the model cannot be reached.
    """
    if n_suppressed > limit or n_suppressed == n_rows:
        raise unreachable(kept_columns=kept_columns)


def refuse_dropped(kept_columns: Collection[str], recoding: Recoding) -> None:
    """Refuse a recoding that drops a column of which at least two parts must be released.

    Raises
    ------
    GuaranteeError
        There is one.
    """
    columns = recoding.columns if isinstance(recoding, GlobalRecoding) else recoding.axes
    dropped = sorted(set(kept_columns) - {column.name for column in columns})
    if dropped:
        raise unkept(dropped[0], f"raise {option('max_suppression')}, ask for a smaller k, or do not keep it")


def undecided(k: int, policy: Policy, failure: GuaranteeError, advice: str = "") -> ChoiceError:
    """Return the question whose the rows are, where the model is not reached with k values of every candidate.

    Parameters
    ----------
    advice : str
        What else the hint says, first.
    """
    names = " and ".join(repr(candidate.name) for candidate in policy.candidates)
    first = ",".join(policy.candidates[0].columns)
    return ChoiceError(
        f"{failure.told[0]}; nobody declared whose the rows are, so every group would also need {k} different values "
        f"of {names}",
        f"{advice}{option('unit', first)} says that these are people; {option('unit', 'none')} says that rows are "
        "independent",
    )


def unreachable(*, kept_columns: Collection[str] = ()) -> GuaranteeError:
    """Return the error for a table of which no recoding meets the privacy model and shows the columns to be kept."""
    if kept_columns:
        columns = ", ".join(map(repr, sorted(kept_columns)))
        return GuaranteeError(
            f"the promise cannot be reached with two parts of each column to be kept: {columns}",
            f"raise {option('max_suppression')}, ask for a smaller k, or keep fewer",
        )
    return GuaranteeError(
        "the promise cannot be reached even with every quasi-identifier dropped",
        "ask for less diversity: without quasi-identifiers the table is one class",
    )
