# SPDX-License-Identifier: Apache-2.0
"""Recipes of version 0.1 under the defaults of 0.2: what each does otherwise, and the line that restores it.

The rows are those of `docs/how-to/move-to-0.2.md` that a recipe determines. Everything follows from the recipe, its
policy and its trees: no table is opened, nothing is released, and no ledger is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath

from anonkit.documents import ReportPart
from anonkit.engines.snapshots.addresses import SUFFIXES
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.methods import make_method
from anonkit.pipeline.recipe import Recipe
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.protocols import Method

_EXACT = 2**53
"""From here on two integers may be one float."""
_NO_NUMBERS = (
    *(ColumnType.STRING, ColumnType.TEXT, ColumnType.CATEGORY, ColumnType.BOOLEAN),
    *(ColumnType.DATE, ColumnType.DATETIME, ColumnType.TIME),
)
_WITH_HEADER = ("csv", "tsv", "excel")


@dataclass(frozen=True, kw_only=True)
class Change(ReportPart, keys=("seen", "restored_by", "columns", "certain=is_certain")):
    """A changed effect of a recipe."""

    seen: str
    """Effect for its owner, in the words of the page on 0.2."""
    restored_by: str
    """The line that restores what was before."""
    columns: tuple[str, ...]
    """The columns of the policy that it is about; empty where it is about none, or about those of no policy."""
    is_certain: bool
    """False: the cells of the table, or the ledgers of the machine, decide whether it happens."""


def changes_of(recipe: Recipe) -> list[Change]:
    """Return the differences of a recipe under the defaults of 0.2, in the order of the page.

    Raises
    ------
    ParameterError
        The recipe asks for a method that is not known, or for parameters that it does not have.
    """
    facts = _RecipeFacts(recipe=recipe, method=make_method(recipe.method, recipe.parameters, recipe.preset))
    found = ((row, row.applies(facts)) for row in ROWS)
    return [
        Change(seen=row.seen, restored_by=row.restored_by, columns=columns, is_certain=row.is_certain)
        for row, columns in found
        if columns is not None
    ]


@dataclass(frozen=True, kw_only=True)
class _RecipeFacts:
    """A recipe and its method, with the facts that decide about a default."""

    recipe: Recipe
    method: Method

    @property
    def policy(self) -> Policy:
        return self.recipe.policy

    @property
    def counts_classes(self) -> bool:
        """True of k-anonymous methods: under noise no cell decides, and defaults that look at cells do not apply."""
        return isinstance(self.method, AnonymityModel)

    @property
    def names_target(self) -> bool:
        return self.policy.target is not None or self.policy.without_target

    @property
    def dataset(self) -> str | None:
        return self.recipe.account.dataset or self.policy.dataset

    @property
    def formats(self) -> set[str]:
        """Formats of the tables, as their names say them; an unknown one may be any."""
        recipe = self.recipe
        if recipe.simulate is not None:
            return set()
        if recipe.tables is not None:
            return {_format(str(source)) for source in recipe.tables.sources}
        return {recipe.how.get("format") or _format(str(recipe.input))}

    def columns(self, applies: Callable[[Column], bool]) -> tuple[str, ...] | None:
        """Return the declared columns of which something holds; None where there is none."""
        return tuple(name for name, column in self.policy.columns.items() if applies(column)) or None


Found = tuple[str, ...] | None
"""Columns a change is about; None: it does not happen."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the page, and its condition on a recipe."""

    seen: str
    restored_by: str
    applies: Callable[[_RecipeFacts], Found]
    is_certain: bool = False


def _format(place: str) -> str:
    suffixes = [suffix.lower() for suffix in PurePath(place).suffixes]
    return next((SUFFIXES[suffix] for suffix in reversed(suffixes) if suffix in SUFFIXES), "")


def _where(condition: bool, columns: Iterable[str] = ()) -> Found:
    return tuple(columns) if condition else None


# --- which default decides -------------------------------------------------------------------------------------------


def _may_have_no_target(facts: _RecipeFacts) -> Found:
    wanted = facts.method.target_use in (TargetUse.OPTIONAL, TargetUse.EXPECTED)
    return _where(facts.counts_classes and wanted and not facts.names_target)


def _may_lack_target(facts: _RecipeFacts) -> Found:
    needed = facts.method.target_use is TargetUse.REQUIRED and facts.counts_classes
    return _where((needed or getattr(facts.method, "needs_declared_target", False)) and not facts.names_target)


def _may_guess_other_target(facts: _RecipeFacts) -> Found:
    return None if facts.dataset is None else _may_have_no_target(facts)


def _released_as_they_are(facts: _RecipeFacts) -> Found:
    shown = (Role.TARGET, Role.SENSITIVE, Role.INSENSITIVE) if facts.counts_classes else (Role.INSENSITIVE,)
    if getattr(facts.method, "needs_declared_target", False):
        shown = (*shown, Role.TARGET)
    return facts.columns(lambda column: column.role in shown and not column.release_as_is)


def _undeclared_are_judged(facts: _RecipeFacts) -> Found:
    return _where(facts.counts_classes or facts.recipe.domains_min_people is not None)


def _has_no_unit(facts: _RecipeFacts) -> Found:
    policy = facts.policy
    identifiers = policy.names(Role.IDENTIFIER)
    return _where(facts.counts_classes and policy.unit is None and not policy.independent_rows, identifiers)


def _key_by_structure(facts: _RecipeFacts) -> Found:
    return _where(_has_no_unit(facts) is not None)


def _sensitive(facts: _RecipeFacts, applies: Callable[[Column], bool]) -> Found:
    if not isinstance(facts.method, AnonymityModel):
        return None
    return facts.columns(lambda column: column.is_sensitive and applies(column))


def _has_cap(facts: _RecipeFacts) -> Found:
    rows = facts.policy.person_rows
    if not isinstance(facts.method, AnonymityModel) or (rows is not None and rows.whole_set):
        return None
    wanted = facts.method.required_of(facts.policy)
    return _sensitive(facts, lambda column: not wanted[column.name].required())


def _has_marks(facts: _RecipeFacts) -> Found:
    return _sensitive(facts, lambda column: column.domain_values is None)


def _may_be_measured(facts: _RecipeFacts) -> Found:
    def applies(column: Column) -> bool:
        return column.tolerance is None and column.domain_values is None and column.type not in _NO_NUMBERS

    return _sensitive(facts, applies)


def _may_lie_outside(facts: _RecipeFacts) -> Found:
    def applies(column: Column) -> bool:
        declared = (column.bounds, column.domain_values, column.calendar, column.number_form)
        decided = column.outside is not None or column.accept_outside is not None
        return column.is_released and not decided and any(each is not None for each in declared)

    return facts.columns(applies) if facts.counts_classes else None


def _header_is_looked_at(facts: _RecipeFacts) -> Found:
    how = facts.recipe.how
    given = how.get("header") is not None or how.get("names") is not None
    return _where(not given and not facts.formats.isdisjoint(_WITH_HEADER))


def _may_be_rounded(facts: _RecipeFacts) -> Found:
    def applies(column: Column) -> bool:
        large = column.bounds is not None and max(map(abs, column.bounds)) >= _EXACT
        return column.role is Role.UNIT or large

    typed = not facts.formats <= {"csv", "tsv", "jsonl"}
    return facts.columns(applies) if typed and not facts.counts_classes else None


def _hides_labels(facts: _RecipeFacts) -> Found:
    by_rows, sees_all = facts.policy.unit is None, getattr(facts.method, "all_labels", True)
    return _where(not sees_all and by_rows and not facts.policy.without_target)


def _may_show_boxes(facts: _RecipeFacts) -> Found:
    return _where(getattr(facts.method, "tries_boxes", False) and not facts.policy.without_target)


def _scores_other_rows(facts: _RecipeFacts) -> Found:
    return _where(facts.counts_classes and facts.recipe.utility and not facts.policy.without_target)


def _is_booked_elsewhere(facts: _RecipeFacts) -> Found:
    return _where(facts.recipe.simulate is None and facts.policy.bookkeeping.ledger is None)


def _people_are_known(facts: _RecipeFacts) -> Found:
    keys = facts.policy.names(Role.UNIT, Role.IDENTIFIER)
    return _where(facts.dataset is None and bool(keys), keys)


def _sums_name_neighbours(facts: _RecipeFacts) -> Found:
    return _where(not facts.counts_classes and facts.dataset is not None)


def _may_meet_old_budget(facts: _RecipeFacts) -> Found:
    return _where(not facts.counts_classes)


def _has_default_shuffle_delta(facts: _RecipeFacts) -> Found:
    return _where(getattr(facts.method, "shuffle_delta", 0) is None)


def _may_search_spikes(facts: _RecipeFacts) -> Found:
    def applies(column: Column) -> bool:
        shown = column.role in (None, Role.QUASI_IDENTIFIER, Role.SENSITIVE)
        return shown and column.bounds is not None and not column.spikes

    if not getattr(facts.method, "searches_spikes", False):
        return None
    return facts.columns(applies)


ROWS = (
    Row(
        seen="the release has no target; a note says that none was guessed",
        restored_by='role = "target" in the column',
        applies=_may_have_no_target,
    ),
    Row(
        seen="exit code 2 of a method that needs a target",
        restored_by='role = "target" in the column',
        applies=_may_lack_target,
    ),
    Row(
        seen="exit code 2: the guess is not the target of the last release",
        restored_by='role = "target" in the column, or target = false',
        applies=_may_guess_other_target,
    ),
    Row(
        seen="exit code 1: a column has the form of identifiers, or numbers the rows",
        restored_by="release_as_is = true in the column",
        applies=_released_as_they_are,
    ),
    Row(
        seen="more columns are left out as identifiers",
        restored_by='role = "quasi_identifier" in the column',
        applies=_undeclared_are_judged,
    ),
    Row(
        seen="fewer columns are left out",
        restored_by='role = "identifier" in the column',
        applies=_undeclared_are_judged,
    ),
    Row(
        seen="coarser groups; the report lists guarantee.parameters.candidates",
        restored_by='unit = "none" in the policy: rows are independent',
        applies=_has_no_unit,
    ),
    Row(
        seen="exit code 2 that names candidates",
        restored_by='role = "unit" in the column counts people, unit = "none" in the policy counts rows',
        applies=_has_no_unit,
    ),
    Row(
        seen="a column is left out as a key by structure",
        restored_by='role = "quasi_identifier" in the column',
        applies=_key_by_structure,
    ),
    Row(
        seen="coarser groups where a column is sensitive and has no other requirement",
        restored_by="alpha = 1 in the column",
        applies=_has_cap,
        is_certain=True,
    ),
    Row(
        seen="l, t and α come out smaller",
        restored_by="declare the marks as categories",
        applies=_has_marks,
    ),
    Row(
        seen="l of a measured number comes out smaller",
        restored_by="tolerance = 0 in the column",
        applies=_may_be_measured,
    ),
    Row(
        seen="exit code 2: the first line looks like a record",
        restored_by="header = true in the recipe insists; header = false and names read it",
        applies=_header_is_looked_at,
    ),
    Row(
        seen="exit code 1 of a float column under noise",
        restored_by="whole numbers or texts in the table",
        applies=_may_be_rounded,
    ),
    Row(
        seen="exit code 1: more than 5 % of a column's cells outside its declared bounds, categories or form, "
        "under k-anonymity",
        restored_by='accept_outside = 1 in the column, or outside = "clamp" or "missing"',
        applies=_may_lie_outside,
    ),
    Row(
        seen="rfka, mondrian, greedy-hamdist choose other detail",
        restored_by="all_labels = true in the parameters",
        applies=_hides_labels,
    ),
    Row(
        seen="rfka shows boxes, each of its own size, with k of 40 or more",
        restored_by="boxes = false in the parameters",
        applies=_may_show_boxes,
    ),
    Row(
        seen="prediction_of_target is lower, or not measured",
        restored_by="nothing does: the earlier figure was too good",
        applies=_scores_other_rows,
    ),
    Row(
        seen="releases are booked in your own ledger, no longer beside the output",
        restored_by='ledger = "PLACE" in the policy',
        applies=_is_booked_elsewhere,
    ),
    Row(
        seen='"looks like dataset …"',
        restored_by='dataset = "NAME"',
        applies=_people_are_known,
    ),
    Row(
        seen="ledger.epsilon_of_all_releases is gone from the report",
        restored_by="read ledger.totals[]",
        applies=_sums_name_neighbours,
    ),
    Row(
        seen="a budget of an older ledger is refused once",
        restored_by="give the budget once more when it is run",
        applies=_may_meet_old_budget,
    ),
    Row(
        seen="the stated ε of a shuffled release above 10,000 rows is slightly larger",
        restored_by="shuffle_delta = 1/(10 n) in the parameters",
        applies=_has_default_shuffle_delta,
    ),
    Row(
        seen="a 25th of ε goes to spikes of … in the account of dp-marginals, dp-forest, dp-tree and dp-nb",
        restored_by='spikes = "declared" in the parameters',
        applies=_may_search_spikes,
    ),
)
"""In the order of the page."""
