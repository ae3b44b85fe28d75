# SPDX-License-Identifier: Apache-2.0
"""MDAV: microaggregation, numbers shown as the mean of a group of rows (Domingo-Ferrer, Mateo-Sanz, TKDE 2002)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.domains.coded_columns import CodedColumn
from anonkit.errors import ChoiceError, PolicyError, option
from anonkit.k_anonymity.coded_axes import global_recoding
from anonkit.k_anonymity.numbers_in_groups import group_numbers
from anonkit.k_anonymity.preparing import Preparation, Prepared, is_of_numbers
from anonkit.k_anonymity.recoded_rows import ReleasableRows, RowRecoding, RowRules
from anonkit.k_anonymity.recoding_method import RecodingMethod, SearchResult, refuse_too_many, unreachable
from anonkit.k_anonymity.search.full_domain import Lattice, Node, datafly, granularity_loss, incognito
from anonkit.k_anonymity.search.hierarchy_levels import Ladder, full_detail
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.parameters import parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.survey_weights import ShownWeights
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.recoding import GlobalRecoding
from anonkit.randomness import Randomness

MOST_ROWS = 5_000_000
"""Largest table that is grouped: all rows are in memory."""
_FEW_NODES = 512
"""Combinations of levels of the categories up to which the best is looked for."""


@dataclass(frozen=True, kw_only=True)
class MDAV(RecodingMethod):
    """Put rows whose numbers are close into groups of at least k, and show in each number the mean of its group.

    Numbers stay numbers. Other quasi-identifiers come first: each is released at one level of its hierarchy, of all
    combinations of levels the one of least loss, and only rows alike in them form groups. A number with a declared
    hierarchy is one of these.

    Privacy
    -------
    k rows (people) share every released combination, as under every k-anonymous method. A mean depends on the numbers
    of its group: who knows all of them but one can work out the last, within the rounding. Means that one person
    dominates are withheld.

    References
    ----------
    Domingo-Ferrer, Mateo-Sanz: Practical data-oriented microaggregation for statistical disclosure control, IEEE TKDE
    14(1), 2002. Domingo-Ferrer, Torra: Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data
    Mining and Knowledge Discovery 11, 2005.
    """

    name: ClassVar[str] = "mdav"
    paper: ClassVar[str] = (
        "Domingo-Ferrer, Mateo-Sanz: Practical data-oriented microaggregation for statistical disclosure control, "
        "IEEE TKDE 2002"
    )
    summary: ClassVar[str] = "k-anonymity by microaggregation: numbers stay numbers, the means of groups of k rows"
    target_use: ClassVar[TargetUse] = TargetUse.OPTIONAL
    search_steps: ClassVar[tuple[str, ...]] = ("generalizing", "grouping")
    whole_table: ClassVar[bool] = True

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"paper": {"max_suppression": 0.0}})

    max_suppression: float = parameter(default=0.01, range="[0, 1]", help="largest share of rows that may be left out")

    def guarantee(self, policy: Policy) -> KAnonymity:
        """State the promise.

        Raises
        ------
        PolicyError
            k is declared for combinations of columns, for whole sets of rows, or weights are to be rounded.
        """
        rows = policy.person_rows
        weight = policy.weight
        refused = {
            "k for chosen combinations of columns": bool(policy.keys),
            "k for whole sets of rows of a household or person": rows is not None and rows.whole_set,
            "rounded weights": weight is not None and weight.weights is ShownWeights.ROUNDED,
        }
        for what, declared in refused.items():
            if declared:
                raise PolicyError(f"method 'mdav' has no {what}", f"{option('method', 'rfka')} has")
        return replace(super().guarantee(policy), averaged=True)

    @property
    def preparation(self) -> Preparation:
        """Numbers stay as they are; categories that fewer than k rows hold are pooled."""
        return Preparation(guided=False, exact_numbers=True)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Group the table, and draft its release; see `RecodingMethod.release`.

        Raises
        ------
        ChoiceError
            The table has more rows than are grouped in memory.
        """
        if source.n_rows > MOST_ROWS:
            raise ChoiceError(
                f"method 'mdav' groups at most {MOST_ROWS:,} rows, and the table has {source.n_rows:,}",
                f"{option('method', 'mondrian')} takes larger tables",
            )
        return super().release(source, policy, engine=engine, rng=rng, progress=progress)

    def find_recoding(self, prepared: Prepared, *, rng: Randomness, progress: Progress) -> SearchResult:
        """Choose the levels of the categories, then group the rows."""
        progress("generalizing", 0.0)
        numbers = [c for c in prepared.columns if is_of_numbers(c) and c.name not in prepared.hierarchies]
        names = [column.name for column in numbers]
        others = [column for column in prepared.columns if column.name not in names]
        ladders = prepared.full_domain_levels()
        apart = [_missing_or_not(column) for column in numbers if column.missing is not None]
        ladders |= {column.name: full_detail(column) for column in apart}
        categories, dropped = self._levels(prepared, [*others, *apart], ladders)
        names = [name for name in names if name not in dropped]
        if not names:
            raise PolicyError(
                "no quasi-identifier holds numbers of which groups could show the mean",
                f"{option('method', 'datafly')} generalizes categories alone",
            )
        progress("grouping", 0.0)
        shown = {column.name for column in categories.columns}
        order = [column.name for column in prepared.columns if column.name in shown or column.name in names]
        found = group_numbers(prepared, categories, names, order, prepared.steps)
        return SearchResult(
            recoding=found.recoding, details={"name": self.name}, owner=found.owner, figures=found.figures
        )

    def _levels(
        self, prepared: Prepared, columns: list[CodedColumn], ladders: dict[str, Ladder]
    ) -> tuple[GlobalRecoding, set[str]]:
        """Return the recoding of the categories, and the columns that are dropped.

        Raises
        ------
        GuaranteeError
            Not even without all of them are enough rows left.
        """
        if not columns:
            return GlobalRecoding(columns=()), set()
        limit = int(self.max_suppression * prepared.n_rows)
        lattice = Lattice(
            columns,
            ladders,
            prepared.requirements,
            limit,
            kept_columns=prepared.kept_columns,
            detail_weights=prepared.detail_weights,
        )
        node: Node
        if lattice.n_nodes <= _FEW_NODES:
            best = incognito(lattice, granularity_loss)
            if best is None:
                raise unreachable(kept_columns=prepared.kept_columns)
            node = best.node
        else:
            node = datafly(lattice)
        refuse_too_many(lattice.n_suppressed(node), prepared.n_rows, limit, kept_columns=prepared.kept_columns)
        groups = lattice.groups(node)
        known = {column.name for column in prepared.columns if not is_of_numbers(column)} | set(prepared.hierarchies)
        mine = [column for column in columns if column.name in known]
        recoding = global_recoding(replace(prepared, columns=mine), groups)
        return recoding, {name for name, of_code in groups.items() if of_code is None}


def groups_again(source: Source, params: Mapping[str, Any], engine: Engine) -> RowRecoding:
    """Return the groups of a release, found again in its source.

    Parameters
    ----------
    params : mapping
        Those of the release.

    Raises
    ------
    AnonkitError
        The source has other groups, or is not one of this release.
    """
    method = Recoded.from_params(params, max_suppression=1.0)
    policy = method.policy().resolve(source.schema.names, target_use=method.target_use)
    return method.as_released(
        source, policy, engine, ReleasableRows(needed=RowRules.of(policy).needed, rules=method.rules(policy))
    )


def _missing_or_not(column: CodedColumn) -> CodedColumn:
    """Return a column of numbers as whether there is one."""
    missing = column.codes == column.missing
    return replace(column, codes=missing.astype(column.codes.dtype), values=["number", None], ordered=False)
