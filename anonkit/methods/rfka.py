# SPDX-License-Identifier: Apache-2.0
"""RFKA: k-anonymous release guided by random-forest importance (Huang & Zhu 2020), and its stronger default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import CodedColumn, FloatArray
from anonkit.errors import ChoiceError, GuaranteeError, PolicyError, option, spoken
from anonkit.k_anonymity.coded_axes import boxes_of, global_recoding, grouping_of, one_hot_grouping
from anonkit.k_anonymity.declared_detail import Hierarchy, declared_grouping
from anonkit.k_anonymity.held_out_labels import all_labels_parameter
from anonkit.k_anonymity.preparing import Preparation, Prepared
from anonkit.k_anonymity.recoding_method import RecodingMethod, SearchResult, refuse_too_many
from anonkit.k_anonymity.search.box_tree import guided_boxes, joint_guide, relatedness
from anonkit.k_anonymity.search.equivalence import released_partition
from anonkit.k_anonymity.search.greedy_selection import (
    Decision,
    Feature,
    FeatureSelection,
    column_features,
    one_hot_features,
    select_features,
    suppressed_rows,
)
from anonkit.k_anonymity.search.hierarchy_levels import Groups, Ladder, automatic_ladder, full_detail, number_groups
from anonkit.k_anonymity.search.importance import IMPORTANCE_STRATEGIES, Importance, LabelledRows
from anonkit.k_anonymity.search.out_of_sample_predictions import PUBLISHED, ForestSize
from anonkit.k_anonymity.search.refinement import compared
from anonkit.k_anonymity.search.top_down_specialization import FROM_K, Drop, DropReason, best_specialization
from anonkit.k_anonymity.supported_parts import Pooled, Stretch, box_facts, holder_counts
from anonkit.parameters import check_choice, check_integer, parameter
from anonkit.policy.declaration import TargetUse
from anonkit.protocols import Progress
from anonkit.published.recoding import GlobalRecoding, Grouping, UnchangedAxis
from anonkit.randomness import Randomness
from anonkit.report.blocks import ColumnFacts, JsonObject

FEATURES = ("columns", "one-hot")
SEARCHES = ("specialization", "greedy")
LADDERS = ("auto", "declared", "none")
FORESTS = ("sampled", "full")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Chosen:
    """The detail that was chosen: groups of every column, rows to suppress, and why."""

    groups: Mapping[str, Groups | None]
    suppressed: NDArray[np.bool_]
    reasons: Mapping[str, str]
    accepted: Mapping[str, Sequence[int]] | None = None
    """One-hot features: the codes kept of every column."""
    details: JsonObject
    owner: JsonObject
    """Exact figures of the source behind the reasons."""


@dataclass(frozen=True, kw_only=True)
class RFKA(RecodingMethod):
    """Keep the detail that a random forest needs to predict the target, as far as k-anonymity allows.

    The default starts with everything dropped and refines one column at a time where that informs most about the
    target for the rows it costs. The published algorithm (`preset="paper"`) visits features in the order of their
    importance and keeps or drops each as a whole.

    Privacy
    -------
    k rows (people) share every released combination of quasi-identifiers. The recoding is chosen by the target, so
    members of a class tend to share it: when the target is itself a secret, declare it sensitive and ask for l or t.
    """

    name: ClassVar[str] = "rfka"
    paper: ClassVar[str] = (
        "Huang & Zhu: k-anonymous feature selection by random-forest feature importance, 2020 (paper 001)"
    )
    summary: ClassVar[str] = "k-anonymity by keeping, generalizing or dropping columns in the light of a random forest"
    target_use: ClassVar[TargetUse] = TargetUse.EXPECTED
    search_steps: ClassVar[tuple[str, ...]] = ("growing the forest", "choosing the detail")
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"k": 5, "trees": 20})
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": MappingProxyType(
                {
                    "features": "one-hot",
                    "importance": "rf-oob",
                    "search": "greedy",
                    "ladder": "none",
                    "bins": 5,
                    "max_suppression": 0.0,
                    "trees": 1000,
                    "forest": "full",
                    "all_labels": True,
                }
            )
        }
    )

    max_suppression: float = parameter(
        default=0.01, range="[0, 1]", help="largest share of rows that may be left out because their class is too small"
    )
    features: str = parameter(
        default="columns",
        range="columns | one-hot",
        choices=FEATURES,
        help="what is kept or dropped: whole columns, or single values of them (the paper's granularity)",
    )
    importance: str = parameter(
        default="rf-oob",
        range=" | ".join(IMPORTANCE_STRATEGIES),
        choices=tuple(IMPORTANCE_STRATEGIES),
        help="what orders the features",
    )
    search: str = parameter(
        default="specialization",
        range="specialization | greedy",
        choices=SEARCHES,
        help="top-down specialization, or one visit in the order of importance (the paper's)",
    )
    ladder: str = parameter(
        default="auto",
        range="auto | declared | none",
        choices=LADDERS,
        help="levels of generalization: found from the table, only those of the policy, or none",
    )
    bins: int | None = parameter(
        default=None,
        range="[2, inf)",
        help="cut numeric columns into this many equal-width bins first (the paper's step 1)",
    )
    drop_freely: bool = parameter(
        default=True,
        range="on or off",
        help="detail goes where it tells most; without it every column is first divided in two, where the limit allows",
    )
    boxes: bool = parameter(
        default=True,
        range="on or off",
        help="with k of 40 or more rows show boxes, as those of mondrian, where these keep more of what the forest "
        "tells; without it every column has one recoding",
    )
    trees: int = parameter(
        default=1000,
        range="[1, inf)",
        help="trees of the forest: with forest=sampled the most, it stops as soon as more change little",
    )
    forest: str = parameter(
        default="sampled",
        range="sampled | full",
        choices=FORESTS,
        help="trees on at most 4,096 drawn rows, until more change little; or all, on full bootstraps (the paper's)",
    )
    all_labels: bool = all_labels_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("features", self.features, FEATURES)
        check_choice("importance", self.importance, tuple(IMPORTANCE_STRATEGIES))
        check_choice("search", self.search, SEARCHES)
        check_choice("ladder", self.ladder, LADDERS)
        check_choice("forest", self.forest, FORESTS)
        check_integer("trees", self.trees, 1)
        if self.bins is not None:
            check_integer("bins", self.bins, 2)
        if not self.drop_freely and self.search != "specialization":
            every_first = spoken(python="drop_freely=False", typed="--no-drop-freely")
            raise ChoiceError(
                f"{every_first} divides every column first, and search=greedy visits each once",
                f"{option('search', 'specialization')}, the default",
            )
        if self.features == "one-hot" and (self.search != "greedy" or self.ladder != "none"):
            raise PolicyError(
                "features=one-hot keeps or drops single values: it needs search=greedy and ladder=none",
                f"{option('preset', 'paper')} sets all three",
            )

    @property
    def preparation(self) -> Preparation:
        """Rare values are pooled and numbers cut where levels are found from the table, or are single features."""
        intervals_are_searched = self.ladder == "auto"
        return Preparation(
            pool=intervals_are_searched,
            cut=intervals_are_searched or self.features == "one-hot" or self.bins is not None,
            bins=self.bins,
        )

    def find_recoding(self, prepared: Prepared, *, rng: Randomness, progress: Progress) -> SearchResult:
        """Let a forest judge the columns, then choose the detail of each."""
        if prepared.jointly and (self.search != "specialization" or self.features != "columns"):
            raise ChoiceError(
                "search=greedy and features=one-hot need a target, and none is named",
                f"leave search, features and preset at their defaults, or {option('target', 'NAME')}",
            )
        columns = [self._first_bins(prepared, column) for column in prepared.columns]
        progress("growing the forest", 0.0)
        features = column_features(columns) if self.features == "columns" else one_hot_features(columns)
        size = PUBLISHED if self.forest == "full" else ForestSize()
        size = replace(size, trees=self.trees)
        evidence = LabelledRows(columns, prepared.labels, features, numbers=prepared.numbers, size=size)
        importance = IMPORTANCE_STRATEGIES[self.importance].score(evidence)
        if prepared.jointly:
            related = relatedness(columns)
            importance = replace(
                importance, values=np.array([related[feature.column] for feature in evidence.features])
            )
        progress("choosing the detail", 0.0)
        limit = int(self.max_suppression * prepared.n_rows)
        chosen = self._chosen(columns, evidence, importance, prepared, limit)
        refuse_too_many(int(chosen.suppressed.sum()), prepared.n_rows, limit, kept_columns=prepared.kept_columns)
        if self.tries_boxes and prepared.bears_boxes and not prepared.jointly:
            boxed = self._in_boxes(columns, evidence, importance, prepared, chosen)
            if boxed is not None:
                return boxed
        recoding = self._recoding(prepared, chosen)
        return SearchResult(
            recoding=recoding,
            column_facts=_column_facts(columns, recoding, importance, chosen),
            details={"name": self.search, "importance": self.importance, **evidence.grown, **chosen.details},
            owner={**chosen.owner, "importance": importance.by_column},
        )

    @property
    def tries_boxes(self) -> bool:
        """True where a division into boxes is tried beside one recoding a column, if there is a target."""
        freely = self.search == "specialization" and self.ladder == "auto" and self.drop_freely
        return self.boxes and freely and self.k >= FROM_K

    def _in_boxes(
        self,
        columns: Sequence[CodedColumn],
        evidence: LabelledRows,
        importance: Importance,
        prepared: Prepared,
        chosen: _Chosen,
    ) -> SearchResult | None:
        """Return the rows in boxes, unless what was chosen explains more of the forests by a standard error.

        Shares and errors are means over the guides of both searches, so that neither is judged by its own alone. No
        row's own label has a part in either.
        """
        ladders = {name: hierarchy.ladder for name, hierarchy in prepared.hierarchies.items()}
        try:
            tree, boxes, predicted = guided_boxes(
                columns,
                prepared.labels,
                prepared.requirements,
                ladders,
                numbers=prepared.numbers,
                kept_columns=prepared.kept_columns,
                detail_weights=prepared.detail_weights,
                hidden=prepared.hidden,
            )
        except GuaranteeError:  # all rows as one class do not meet the model, and boxes leave none out
            return None
        shown = released_partition(columns, chosen.groups)
        of_row = np.where(chosen.suppressed, shown.n_classes, shown.classes)
        both = [compared(guide, of_row, boxes.classes) for guide in (evidence.class_probabilities(), predicted)]
        before, after, error = (
            float(np.mean([getattr(one, figure) for one in both])) for figure in ("first", "second", "error")
        )
        recoding = boxes_of(columns, tree, prepared.hierarchies)
        if before >= after + error or not prepared.kept_columns <= {axis.name for axis in recoding.axes}:
            return None
        return SearchResult(
            recoding=recoding,
            column_facts=box_facts([column.name for column in columns], recoding),
            details={"name": "boxes", **evidence.grown, "boxes": boxes.n_classes, "explained": round(after, 2)},
            owner={"explained": after, "with_one_recoding_a_column": before, "importance": importance.by_column},
        )

    def _chosen(
        self,
        columns: Sequence[CodedColumn],
        evidence: LabelledRows,
        importance: Importance,
        prepared: Prepared,
        limit: int,
    ) -> _Chosen:
        ladders = {column.name: levels for column in columns if (levels := self._levels(prepared, column)) is not None}
        if self.search == "greedy":
            if self.ladder == "auto":
                ladders = {column.name: ladders.get(column.name) or automatic_ladder(column) for column in columns}
            lists_values = self.features == "one-hot" and limit > 0  # without a row left out k rows hold what is kept
            ranking: Sequence[Feature] = _weighted(importance, prepared.detail_weights).ranking
            ranking = self._publishable(columns, ranking, prepared) if lists_values else ranking
            selection = select_features(
                columns, ranking, prepared.requirements, limit, ladders, kept_columns=prepared.kept_columns
            )
            if lists_values:
                selection = self._with_rest(columns, selection, prepared)
            accepted: dict[str, list[int]] = {column.name: [] for column in columns}
            for feature in selection.kept_features:
                accepted[feature.column] += [] if feature.code is None else [feature.code]
            return _Chosen(
                groups=selection.groups,
                suppressed=selection.suppressed,
                reasons=_greedy_reasons(selection.decisions),
                accepted=accepted if self.features == "one-hot" else None,
                details={"features_kept": len(selection.kept_features)},
                owner={
                    "features": len(selection.decisions),
                    "rows_that_may_be_left_out": limit,
                    "rows_that_would_break_it": {
                        f"{decision.feature.column} {at}": decision.suppressed
                        for at, decision in enumerate(selection.decisions)
                        if not decision.is_kept
                    },
                },
            )
        result = best_specialization(
            columns,
            _guide(columns, evidence, prepared),
            importance.by_column,
            prepared.requirements,
            limit,
            ladders,
            kept_columns=prepared.kept_columns,
            wished=() if self.drop_freely else [column.name for column in columns],
            detail_weights=prepared.detail_weights,
        )
        dropped = [(result.dropped[column.name], column) for column in columns if column.name in result.dropped]
        return _Chosen(
            groups=result.groups,
            suppressed=result.suppressed,
            reasons={column.name: self._drop_reason(drop, column) for drop, column in dropped},
            details={"steps": len(result.steps), "explained": round(result.explained, 2)},
            owner={
                "explained": result.explained,
                "rows_of_the_mildest_division": {
                    column.name: drop.suppressed for drop, column in dropped if drop.reason is DropReason.SUPPRESSION
                },
                "rows_that_may_still_be_left_out": {
                    column.name: drop.available for drop, column in dropped if drop.reason is DropReason.SUPPRESSION
                },
            },
        )

    def _publishable(
        self, columns: Sequence[CodedColumn], ranking: Sequence[Feature], prepared: Prepared
    ) -> Sequence[Feature]:
        """Leave out the values that fewer than k rows (people) hold: a recoding that keeps one discloses them."""
        holders = {column.name: holder_counts(column.codes, column.size, prepared.holders) for column in columns}
        return [
            feature for feature in ranking if feature.code is None or holders[feature.column][feature.code] >= self.k
        ]

    def _with_rest(
        self, columns: Sequence[CodedColumn], selection: FeatureSelection, prepared: Prepared
    ) -> FeatureSelection:
        """Drop kept values of a column, the rarest first, until k rows hold the others, or none does."""
        groups, decisions = dict(selection.groups), list(selection.decisions)
        for column in columns:
            holders = holder_counts(column.codes, column.size, prepared.holders)
            features = [feature for feature in decisions if feature.is_kept and feature.feature.column == column.name]
            features.sort(key=lambda feature: -int(holders[feature.feature.code or 0]))
            while features:
                keys = np.full(column.size, column.size, dtype=np.int64)
                codes = [feature.feature.code for feature in features if feature.feature.code is not None]
                keys[codes] = codes
                rest = holder_counts((keys == column.size)[column.codes], 2, prepared.holders)[1]
                if rest == 0 or rest >= self.k:
                    break
                given_up = features.pop()
                decisions[decisions.index(given_up)] = replace(given_up, is_kept=False, level=None)
                keys[given_up.feature.code or 0] = column.size
                groups[column.name] = number_groups(keys) if features else None
        suppressed = suppressed_rows(released_partition(columns, groups), prepared.requirements)
        return replace(selection, decisions=tuple(decisions), groups=groups, suppressed=suppressed)

    def _levels(self, prepared: Prepared, column: CodedColumn) -> Ladder | None:
        """Return the levels of detail of a column, or None where the search is free to choose."""
        hierarchy = prepared.hierarchies.get(column.name)
        if self.ladder == "none" or (hierarchy is None and self.ladder == "declared"):
            return full_detail(column)
        return None if hierarchy is None else hierarchy.ladder

    def _drop_reason(self, drop: Drop, column: CodedColumn) -> str:
        """Return the reason why a column was dropped, in words; the number of rows is the owner's."""
        if drop.reason is DropReason.CONSTANT:
            if any(isinstance(value, Pooled | Stretch) for value in column.values):
                return f"fewer than two of its values are shared by {self.k} or more"
            return "it has one value"
        if drop.reason is DropReason.SUPPRESSION:
            return "even split into two groups it would force out more rows than the limit still allows"
        return "what it tells about the target is not worth the rows it costs"

    def _first_bins(self, prepared: Prepared, column: CodedColumn) -> CodedColumn:
        """Return the column that one-hot features are made of: with a declared hierarchy, its first bins."""
        hierarchy = prepared.hierarchies.get(column.name)
        if self.features != "one-hot" or hierarchy is None or not hierarchy.widths:
            return column
        bins = hierarchy.first_bins
        n_bins = int(bins.max(initial=-1)) + 1
        values = [*range(n_bins - 1), None] if column.missing is not None else list(range(n_bins))
        return replace(column, codes=bins[column.codes], values=values)

    def _recoding(self, prepared: Prepared, chosen: _Chosen) -> GlobalRecoding:
        """Return the recoding of the columns as they were before the first bins of a hierarchy."""
        if chosen.accepted is None:
            return global_recoding(prepared, chosen.groups)
        recoded: list[UnchangedAxis | Grouping] = []
        for column in prepared.columns:
            groups, accepted = chosen.groups[column.name], chosen.accepted[column.name]
            if groups is None:
                continue
            if column.ordered:
                recoded.append(_one_hot_numbers(column, prepared.hierarchies.get(column.name), groups, accepted))
            else:
                recoded.append(one_hot_grouping(column, accepted))
        return GlobalRecoding(columns=tuple(recoded))


def _weighted(importance: Importance, detail_weights: Mapping[str, float]) -> Importance:
    """Return the importance of features with the weights of their columns, by which they are visited."""
    weights = np.array([detail_weights.get(feature.column, 1.0) for feature in importance.features])
    values = importance.values
    return replace(importance, values=np.where(values > 0, values * weights, values / weights))


def _guide(columns: Sequence[CodedColumn], evidence: LabelledRows, prepared: Prepared) -> FloatArray:
    """Return the guide of the search: predictions of the target, or without one the columns themselves."""
    if not prepared.jointly:
        return evidence.class_probabilities()
    return joint_guide(sorted(columns, key=lambda column: column.name), np.ones(prepared.n_rows))


def _one_hot_numbers(
    column: CodedColumn, hierarchy: Hierarchy | None, groups: Groups, accepted: Sequence[int]
) -> Grouping:
    """Return the recoding in which accepted parts of an ordered column stay and all else is one `*`."""
    others = np.setdiff1d(np.arange(groups.size), accepted)
    rest = int(groups[others[0]]) if others.size else None
    if hierarchy is None:
        return grouping_of(column, groups, masked=rest)
    if hierarchy.widths:
        groups = groups[hierarchy.first_bins]
    named = np.arange(int(groups.max(initial=-1)) + 1) != rest
    return declared_grouping(hierarchy, groups, named, masked=True)


def _greedy_reasons(decisions: Sequence[Decision]) -> dict[str, str]:
    """Return the reason why columns without kept values were dropped."""
    reasons: dict[str, str] = {}
    used = {decision.feature.column for decision in decisions if decision.is_kept}
    for decision in decisions:
        name = decision.feature.column
        if name in used or name in reasons:
            continue
        broken = ", ".join(decision.violations) or "k"
        reasons[name] = f"with it, more rows than may be left out would be in groups that break {broken}"
    return reasons


def _rounded(importance: float) -> float:
    """Return an importance with two digits: exact ones are computed from single rows, and are the owner's."""
    return float(f"{importance:.2g}")


def _column_facts(
    columns: Sequence[CodedColumn], recoding: GlobalRecoding, importance: Importance, chosen: _Chosen
) -> dict[str, ColumnFacts]:
    """Return the importance of every column, and why some are dropped."""
    released = {column.name for column in recoding.columns}
    facts: dict[str, ColumnFacts] = {}
    for column in columns:
        value = _rounded(importance.by_column.get(column.name, 0.0))
        if column.name in released or column.name not in chosen.reasons:
            facts[column.name] = {"importance": value}
        else:
            facts[column.name] = {"reason": chosen.reasons[column.name], "importance": value}
    return facts
