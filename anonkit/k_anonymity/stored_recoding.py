# SPDX-License-Identifier: Apache-2.0
"""`anonkit apply`: the recoding of an earlier release on the next batch.

Rows in groups are grouped once more where the table is that of the release: which rows are a group does not follow from
the centroids, but from the table. Whoever has it sees by the centroids whether these are the groups of the release.

Rows of the next batch show the nearest of the centroids whose class keeps the model, by a public rule. Every row goes
to the nearest centroid of its combination of categories. Centroids without rows are closed, and of those whose class
breaks the model the smaller half, at least one; their rows go to the nearest that is open, and so on until every class
keeps the model. Rows of a combination without an open centroid are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from anonkit.domains.cell_values import NumberForm
from anonkit.domains.coded_columns import densify, is_ordered
from anonkit.errors import GuaranteeError, PolicyError, ReleaseFormatError, option, refusing_damage
from anonkit.k_anonymity.merged_classes import MergedRecoding, merged_recoding
from anonkit.k_anonymity.numbers_in_groups import GroupedRecoding, group_numbers, rows_as_batch
from anonkit.k_anonymity.preparing import Preparation, prepare
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_draft import draft_recoded
from anonkit.k_anonymity.recoded_rows import ReleasableRows, RowRecoding, UsableRows, count_usable_rows
from anonkit.k_anonymity.recoding_method import undecided
from anonkit.k_anonymity.search.equivalence import Partition
from anonkit.k_anonymity.sensitive_rules import SensitiveRule, settled_rules, stored_rules
from anonkit.parameters import parameter
from anonkit.policy.calendar_columns import Calendar, StatedCalendar
from anonkit.policy.column_declarations import Column, ColumnType, Missing, Outside, Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.person_candidates import SURROGATE, PersonRows
from anonkit.policy.places import GeographicPlace, StatedPlace
from anonkit.policy.publication import KeyCombination, key_combinations_of
from anonkit.policy.side_files import UTF8, encoding_named
from anonkit.policy.survey_weights import KEY as WEIGHT
from anonkit.policy.survey_weights import ShownWeights
from anonkit.policy.target_task import Task
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.recoding import (
    UNKNOWN,
    CategoryAxis,
    Centroids,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    MeanAxis,
    Recoding,
    UnchangedAxis,
    recoding_from_dict,
)
from anonkit.randomness import Randomness

_AS_THEY_ARE = Preparation(pool=False, cut=False, guided=False, exact_numbers=True)
"""Nothing is looked for in the columns: what is shown of them is known."""


def regrouped(
    model: AnonymityModel,
    source: Source,
    policy: Policy,
    engine: Engine,
    recoding: GlobalRecoding,
    releasable: ReleasableRows,
) -> GroupedRecoding:
    """Return the groups of a release, found again in its table.

    Parameters
    ----------
    recoding : GlobalRecoding
        As the release published it, its rows in groups.
    releasable : ReleasableRows
        Which rows may be released, and the requirements on their sensitive values.

    Raises
    ------
    GuaranteeError
        The table has other groups: it has changed since, or a column left the release because it showed one value.
    """
    prepared = prepare(source, policy, engine, model, _AS_THEY_ARE, releasable.rules)
    categories = GlobalRecoding(
        columns=tuple(column for column in recoding.columns if not isinstance(column, MeanAxis))
    )
    units = {column.name: column.unit for column in recoding.columns if isinstance(column, MeanAxis)}
    order = [column.name for column in recoding.columns]
    found = group_numbers(prepared, categories, recoding.mean_names, order, units).recoding
    if _combinations(found.published.centroids) != _combinations(recoding.centroids):
        raise GuaranteeError("the groups of an earlier release cannot be found again: the table has changed since")
    return found


def _combinations(centroids: Centroids | None) -> set[tuple[object, ...]]:
    """Return the combinations that the groups show."""
    assert centroids is not None  # noqa: S101 - both recodings are in groups
    return set(zip(*(cells for _, cells in (*centroids.categories, *centroids.means)), strict=True))


def open_centroids(
    model: AnonymityModel,
    source: Source,
    policy: Policy,
    engine: Engine,
    recoding: GlobalRecoding,
    releasable: ReleasableRows,
) -> GlobalRecoding:
    """Return the recoding with those centroids alone that stay open for a table.

    Parameters
    ----------
    releasable : ReleasableRows
        Which rows may be released, and the requirements on their sensitive values.

    Privacy
    -------
    Which centroids are closed depends on the published ones and on how many rows are nearest to each; every class that
    is shown is counted anew.
    """
    assert recoding.centroids is not None  # noqa: S101 - whoever calls has looked
    prepared = prepare(source, policy, engine, model, _AS_THEY_ARE, releasable.rules)
    batch = rows_as_batch(prepared, [column.name for column in recoding.columns])
    shown, unknown = recoding.apart_from_means(batch)
    numbers = {name: batch.column(name) for name in recoding.mean_names}
    centroids = recoding.centroids.at(range(recoding.centroids.size), nearest_alone=True)
    while centroids.size:
        at = centroids.nearest(shown, numbers)
        inside = (at != UNKNOWN) & ~unknown
        rows = np.bincount(at[inside], minlength=centroids.size)
        there = np.flatnonzero(rows)
        partition, everything = Partition(*densify(at[inside])), np.ones(int(inside.sum()), bool)
        broken = np.zeros(there.size, bool)
        for requirement in prepared.requirements:
            broken |= requirement.at(inside).violated(partition, everything)
        small = there[broken]
        small = small[np.argsort(rows[small], kind="stable")][: (small.size + 1) // 2]
        if there.size == centroids.size and not small.size:
            break
        centroids = centroids.at(np.setdiff1d(there, small).tolist())
    return replace(recoding, centroids=centroids)


_NOTES = ("The recoding was taken from an earlier release; k was counted in this table alone.",)
_MERGED = "Groups too small here were merged: their rows show a coarser step of the recoding, which the params tell."
_NEAREST = (
    "Each row shows the centroid of the earlier release that is nearest to it, of those that have enough rows here: it "
    "is no mean of this table."
)
_DROPPED = "dropped in the earlier release"


@dataclass(frozen=True, kw_only=True)
class Recoded(AnonymityModel):
    """Recode a table as an earlier release was.

    Rows whose class is too small here (not diverse enough) show a coarser step of the recoding, as `merged_classes`
    says; what cannot be merged is left out, within the limit.

    Privacy
    -------
    The promise is the earlier release's, counted in this table alone. Values the earlier table did not have join
    the group of all values that are not listed, or their row is left out. That a row shows a coarser step discloses
    that its own class broke the model in this table.
    """

    name: ClassVar[str] = "recoded"
    paper: ClassVar[str] = "the method of the earlier release"
    summary: ClassVar[str] = "the next batch, recoded like an earlier k-anonymous release"

    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    progress_steps: ClassVar[tuple[str, ...]] = ("checking the table", "recoding", "counting classes")

    max_suppression: float = parameter(default=0.01, range="[0, 1]", help="largest share of rows that may be left out")
    earlier_method: str = parameter(default="rfka", range="a method's name", help="method that made the recoding")
    recoding: Recoding = field(default_factory=lambda: GlobalRecoding(columns=()))
    declared: tuple[Column, ...] = ()
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By sensitive column: the width and the caps of its values, as the earlier release fixed them."""
    missing_values: tuple[str, ...] = ("",)
    candidates: tuple[tuple[str, ...], ...] = ()
    """Columns that may identify the person of a row, of which every class had k different values."""
    keys: tuple[KeyCombination, ...] = ()
    """Combinations of quasi-identifiers with a k of their own."""
    households: bool = False
    """True when the unit is a household, k of which had each whole set of rows."""
    surrogate: bool = False
    """True when the rows of a household show one random number of their release."""
    independent_rows: bool = False
    """The owner declared that no person has several rows."""
    task: Task | None = None
    """Task of consumers on the target; None: classification, or there is none."""
    shown: frozenset[str] = frozenset()
    """Quasi-identifiers that the earlier release shows."""

    @classmethod
    def from_params(cls, params: Mapping[str, Any], *, max_suppression: float | None = None) -> Recoded:
        """Build the method from the `params.json` of a k-anonymous release.

        Raises
        ------
        ReleaseFormatError
            The file is damaged or of a release that has no recoding.
        """
        if "recoding" not in params:
            raise ReleaseFormatError("this release has no recoding to apply", "only k-anonymous releases have one")
        if "model" not in params and "draw" in params:
            raise ReleaseFormatError(
                "the rows of this release were drawn by coins, which a recoding does not repeat",
                "release the next batch anew, with an epsilon and a delta of its own",
            )
        if any(raw.get("relative") for raw in params.get("columns", ()) if isinstance(raw, Mapping)):
            raise ReleaseFormatError(
                "this release shows days since the first row of a person, and a batch has other first rows",
                "release the tables anew with the batch in them",
            )
        try:
            model = params["model"]
            return cls(
                k=model["k"],
                l=model["l"],
                entropy_l=model["entropy_l"],
                recursive=model["recursive"],
                t=model["t"],
                alpha=model["alpha"],
                max_suppression=params["max_suppression"] if max_suppression is None else max_suppression,
                earlier_method=params.get("earlier_method", params["method"]),
                recoding=recoding_from_dict(params["recoding"]),
                declared=tuple(
                    _column(raw, params.get(WEIGHT)) for raw in params["columns"] if raw["role"] != SURROGATE
                ),
                values={raw["name"]: raw for raw in params["columns"] if raw["sensitive"]},
                missing_values=tuple(params["missing_values"]),
                candidates=tuple(tuple(map(str, columns)) for columns in params.get("candidates", ())),
                keys=key_combinations_of(params),
                households=params.get("households") is True,
                surrogate=SURROGATE in params,
                independent_rows=params.get("independent_rows") is True,
                task=Task(params["task"]) if "task" in params else None,
                shown=_shown(params.get("treatment", {})),
            )
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            if isinstance(error, ReleaseFormatError | PolicyError):
                raise
            raise ReleaseFormatError("the params.json of the earlier release is damaged") from None

    def policy(self, encoding: str | None = None) -> Policy:
        """Return the roles and types of the earlier release; identifiers and target may be absent.

        Parameters
        ----------
        encoding : str, optional
            Of the next batch, when it is a text file; UTF-8 by default, whatever the earlier table's encoding.
        """
        absent = (Role.IDENTIFIER, Role.TARGET)
        return Policy(
            columns={column.name: column for column in self.declared},
            missing_values=self.missing_values,
            independent_rows=self.independent_rows,
            households=self.households,
            person_rows=PersonRows(whole_set=True, surrogate=self.surrogate) if self.households else None,
            keys=self.keys,
            task=self.task,
            encoding=UTF8 if encoding is None else encoding_named(encoding),
            optional=frozenset(column.name for column in self.declared if column.role in absent) - self._counted,
        )

    @property
    def _counted(self) -> frozenset[str]:
        """Columns by which rows are distinguished: without them a batch cannot be counted."""
        units = (of for column in self.declared for of in column.together)
        return frozenset((*units, *(name for columns in self.candidates for name in columns)))

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Recode the table, merge the classes that are too small, and leave out what cannot be merged."""
        try:
            return self._drafted(source, policy, engine=engine, progress=progress)
        except GuaranteeError as failure:
            if not policy.candidates:
                raise
            raise undecided(self.k, policy, failure, "wait for a larger batch, or release anew: ") from None

    def _drafted(self, source: Source, policy: Policy, *, engine: Engine, progress: Progress) -> Draft:
        """Return the draft; see `release`."""
        progress("checking the table", 0.0)
        usable = count_usable_rows(source, policy, engine)
        usable.refuse_none()  # before types: cells that are not there have none
        self._refuse_strangers(source, policy)
        policy = self._in_order(policy)
        progress("recoding", 0.0)
        rules = self.rules(policy)
        if any(rule.no_values is None for rule in rules):
            rules = settled_rules(self, source, policy, engine, usable.needed)
        usable = replace(usable, rules=rules)
        recoding = self._fitted(source, policy, engine, usable)
        draft = draft_recoded(
            self,
            source,
            policy,
            recoding,
            engine=engine,
            progress=progress,
            usable=usable,
            column_facts={name: {"reason": _DROPPED} for name in self._dropped(policy)},
            notes=(*_NOTES, *_moved_notes(recoding)),
            hint=f"raise {option('max_suppression')}, wait for a larger batch, or release anew",
        )
        return replace(
            draft,
            published={**draft.published, "earlier_method": self.earlier_method},
            shown_before=self.shown,
            owner={
                **draft.owner,
                **_moved_figures(recoding),
            },
        )

    def _fitted(
        self, source: Source, policy: Policy, engine: Engine, usable: UsableRows
    ) -> MergedRecoding | GlobalRecoding:
        """Return the recoding as this table keeps the model under it."""
        if isinstance(self.recoding, GlobalRecoding) and self.recoding.centroids is not None:
            return open_centroids(self, source, policy, engine, self.recoding, usable)
        # boxes were as narrow as the rows of that table: rows of this one may be anywhere in them
        divided = self.recoding.as_divided if isinstance(self.recoding, LocalRecoding) else self.recoding
        return merged_recoding(self, source, policy, engine, divided, usable)

    def as_released(self, source: Source, policy: Policy, engine: Engine, releasable: ReleasableRows) -> RowRecoding:
        """Return the rows of the table as the earlier release showed them.

        Raises
        ------
        GuaranteeError
            Its rows were grouped by their numbers, and the table has other groups.
        """
        if isinstance(self.recoding, GlobalRecoding) and self.recoding.in_groups:
            return regrouped(self, source, policy, engine, self.recoding, releasable)
        if self.recoding.merged:
            return merged_recoding(self, source, policy, engine, self.recoding, releasable)
        return self.recoding

    def guarantee(self, policy: Policy) -> KAnonymity:
        """State the promise; see `AnonymityModel.guarantee`."""
        averaged = isinstance(self.recoding, GlobalRecoding) and self.recoding.centroids is not None
        return replace(super().guarantee(policy), averaged=averaged)

    def _in_order(self, policy: Policy) -> Policy:
        """Return the policy with its columns in the order of the earlier release, whatever that of the batch is."""
        known = [column.name for column in self.declared if column.name in policy.columns]
        return replace(policy, columns={name: policy.columns[name] for name in known})

    def rules(self, policy: Policy) -> tuple[SensitiveRule, ...]:
        """Return the requirements on sensitive columns: the earlier release's widths and caps.

        Raises
        ------
        ReleaseFormatError
            It does not say them.
        """
        with refusing_damage("the params.json of the earlier release is damaged"):
            return stored_rules(self, policy, self.values)

    def _dropped(self, policy: Policy) -> list[str]:
        """Return the quasi-identifiers that the earlier release does not show."""
        released = {column.name for column in self._recoded}
        return [name for name in policy.quasi_identifiers if name not in released]

    @property
    def _recoded(self) -> Sequence[UnchangedAxis | Grouping | IntervalAxis | CategoryAxis]:
        return self.recoding.columns if isinstance(self.recoding, GlobalRecoding) else self.recoding.axes

    def _refuse_strangers(self, source: Source, policy: Policy) -> None:
        known = {column.name for column in self.declared}
        for name in policy.columns:
            if name not in known:
                raise PolicyError(
                    f"column {name!r} was not in the table of the earlier release", "leave it out, or release anew"
                )
        for column in self._recoded:
            axis = column.axis if isinstance(column, Grouping) else column
            ordered = is_ordered(source.schema.field(column.name).type)
            if not isinstance(axis, UnchangedAxis) and ordered is not isinstance(axis, IntervalAxis):
                kind = "numbers or dates" if isinstance(axis, IntervalAxis) else "categories"
                raise PolicyError(f"column {column.name!r} does not hold {kind}, as the earlier release did")


def _moved_notes(recoding: MergedRecoding | GlobalRecoding) -> tuple[str, ...]:
    """Return the note on rows of groups that are too small here."""
    if isinstance(recoding, MergedRecoding):
        return (_MERGED,) if recoding.moved else ()
    return (_NEAREST,)


def _moved_figures(recoding: MergedRecoding | GlobalRecoding) -> dict[str, Any]:
    """Return the number of rows that show a coarser step, for the owner."""
    if isinstance(recoding, MergedRecoding) and recoding.moved:
        return {"merged": {"rows_at_a_coarser_step": recoding.n_moved}}
    return {}


def _shown(treatment: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Return the columns that a release shows, by what it says that was done to each."""
    return frozenset(name for name, of in treatment.items() if of["action"] != "dropped")


def _column(raw: Mapping[str, Any], weight: Mapping[str, Any] | None) -> Column:
    domain, calendar, place = raw.get("domain", {}), raw.get("calendar"), raw.get("place")
    outside = (place or calendar or domain).get("outside")
    bounds, categories = domain.get("bounds"), domain.get("categories")
    kind, dates = _column_type(raw["type"]), None if calendar is None else StatedCalendar.from_params(calendar)
    is_weight = weight is not None and weight["column"] == raw["name"]
    if categories is not None:  # its cells are compared with them, whatever type they were written in
        kind = ColumnType.TEXT if domain.get("texts_alone") else None
    column = Column(
        name=raw["name"],
        role=Role(raw["role"]),
        role_given=raw.get("declared", True),
        release_as_is=raw.get("released_as_is", False),
        keep=raw.get("keep", False) is True,
        type=kind,
        missing=None if is_weight and raw["missing"] == "category" else Missing(raw["missing"]),
        bounds=None if bounds is None else (float(bounds[0]), float(bounds[1])),
        categories=None if categories is None else tuple(map(str, categories)),
        outside=None if outside is None else Outside(outside),
        accept_outside=raw.get("accept_outside"),
        place=None if place is None else GeographicPlace.of(StatedPlace.from_params(place), f"place {raw['name']!r}"),
        calendar=None if dates is None else Calendar.of(dates, f"column {raw['name']!r}"),
        number_form=None if "written" not in raw else NumberForm.from_params(raw["written"]),
        together=tuple(map(str, raw.get("together", ()))),
        weights=ShownWeights(weight["shows"]) if weight is not None and is_weight else None,
        step=weight.get("step") if weight is not None and is_weight else None,
    )
    if is_weight:
        return column
    if not column.is_sensitive and not raw["sensitive"]:
        # for others it has the policy's own word, which is about quasi-identifiers
        return column if column.role is Role.QUASI_IDENTIFIER else replace(column, missing=None)
    treatment = Missing.CATEGORY if raw["missing_is_value"] else None
    required: dict[str, Any] = {key: float(raw[key]) for key in ("l", "t", "alpha", "tolerance") if key in raw}
    return replace(column, missing=treatment, sensitive=column.role is Role.TARGET, **required)


def _column_type(arrow: str) -> ColumnType | None:
    """Return the type as which text cells are read, from the name of an Arrow type."""
    if arrow.startswith(("int", "uint")):
        return ColumnType.INTEGER
    if arrow.startswith(("float", "double", "halffloat", "decimal")):
        return ColumnType.NUMBER
    if arrow == "bool":
        return ColumnType.BOOLEAN
    return ColumnType.DATE if arrow.startswith("date") else ColumnType.STRING
