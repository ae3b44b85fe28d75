# SPDX-License-Identifier: Apache-2.0
"""The release path of all tree methods: plan from the policy, promise from the plan, draft from the grown forest."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.budget_rules.tree_rule import CUTS, FLIP, PAPER_TREES, RequestedTrees, requested_trees
from anonkit.domains.number_bins import Categories, named_classes, notes_on_bins
from anonkit.dp_trees.grower import grow
from anonkit.dp_trees.microdata import LeafCells, UniformRows, cells_of, label_of, rows_by_cell
from anonkit.dp_trees.plan import ROWS, Choices, LabelOnly, NoisyClassCounts, Plan
from anonkit.dp_trees.questions import Counter
from anonkit.dp_trees.release.coded_rows import counter_of
from anonkit.dp_trees.release.declared_schema import CellMethod, bins_parameter, schema_of
from anonkit.dp_trees.release.synthetic_rows import COUNT_COLUMN, PieceSampler, column_entries, described
from anonkit.dp_trees.split_selection import LARGEST_TABLE, SCORES, CutThenAttribute, JointSelection, SplitSelection
from anonkit.errors import PolicyError
from anonkit.mechanisms.accounting import Accounting
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.parameters import check_integer
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import conditions_of, public_assumptions, public_domains
from anonkit.promises.guarantee import Guarantee, NoGuarantee
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.released_codes import labelled
from anonkit.published.tree_model import Attribute, PublishedForest, Split, TreeSchema
from anonkit.randomness import Randomness


def friedman_schuster(epsilon: float, schema: TreeSchema) -> float:
    """Return t |C| sqrt(2) / epsilon: below it the noise of a count outweighs the counts a split would need.

    Friedman & Schuster 2010, algorithm 1; t is the largest domain, |C| the number of classes.
    """
    return math.sqrt(2) / epsilon * schema.most_codes * schema.n_classes


def one_deviation(epsilon: float, schema: TreeSchema) -> float:
    """Return sqrt(2) / epsilon: one standard deviation of the noise of the count."""
    return math.sqrt(2) / epsilon


class TreePlan(Protocol):
    """The plan of a release by trees: every draw, before any data is read."""

    @property
    def schema(self) -> TreeSchema:
        """Attributes and classes, all public."""
        ...

    @property
    def accounting(self) -> Accounting:
        """Composition of the draws."""
        ...


P = TypeVar("P", bound=TreePlan)


@dataclass(frozen=True, kw_only=True)
class TreeMethod(CellMethod, ABC, Generic[P]):
    """The release path of all tree methods; a method adds its plan and the way it grows that plan.

    `plan` is a function of policy and parameters, so `guarantee` can state the promise before any data is read;
    `release` makes the draws of that same plan.

    Privacy
    -------
    The promise is the composition of the planned draws. A method whose published form reads exact counts returns a
    reason from `no_guarantee`, and its release promises nothing.
    """

    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "central-dp",
            "statement": "Central differential privacy, delta 0, with at most the epsilon given unless the method's "
            "page says otherwise: adding or removing one row changes the probability of any result by at most a "
            "factor of e^epsilon (replacing one row, with adjacency replace; all rows of a unit, with a unit column). "
            "Choices that look at rows without noise have no formal guarantee, and the report says so.",
        }
    )
    number_split: ClassVar[Split] = Split.CUT
    taxonomies: ClassVar[bool] = False
    """True when categories are divided group by group where the policy has a tree of them."""

    bins: int = bins_parameter(16)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("bins", self.bins, 2, 1024)

    def requested(self, schema: TreeSchema) -> RequestedTrees:
        """Return the trees of the method with its parameters."""
        numbers = sum(attribute.split is Split.CUT and attribute.n_splits > 0 for attribute in schema.attributes)
        return requested_trees(PAPER_TREES[self.name], vars(self), numbers)

    @abstractmethod
    def plan_of(self, schema: TreeSchema) -> P:
        """Return the plan for a schema."""

    @abstractmethod
    def grow(self, plan: P, counter: Counter, rng: Randomness, progress: Progress) -> PublishedForest:
        """Return the noisy forest of a plan."""

    @property
    def category_split(self) -> Split:
        """Division of a category that has no tree: a branch for each value."""
        return Split.MULTIWAY

    def no_guarantee(self) -> str | None:
        """Return the reason why nothing can be promised with these parameters; None where something can."""
        return None

    def published_claim(self) -> str | None:
        """Return the claim of the paper, where something else holds: its rate of choices may need half of it."""
        trees = requested_trees(PAPER_TREES[self.name], vars(self), 0)
        if trees.slack == 1:
            return None
        if trees.paper.law == FLIP:
            return (
                f"The paper claims epsilon = {self.epsilon:g}; what it chooses by permute-and-flip loses half of its "
                "share, since a row that comes moves all scores one way."
            )
        return f"The paper claims epsilon = {self.epsilon:g} for this; its choices of splits lose half of their shares."

    def plan(self, policy: Policy) -> P:
        """Return every draw of the release, before any data is seen.

        Raises
        ------
        PolicyError
            A column has no public domain, or there is no target.
        """
        self.check_unit(policy)
        domains = public_domains(policy, target_required=True)
        schema = schema_of(
            domains, self.bins, number=self.number_split, category=self.category_split, taxonomies=self.taxonomies
        )
        return self.plan_of(schema)

    def guarantee(self, policy: Policy) -> Guarantee:
        """State the promise: the composition of the planned draws, never above the given epsilon."""
        plan = self.plan(policy)
        reason = self.no_guarantee()
        if reason is not None:
            loss_words = (
                f"Without looks that have no noise, what is drawn loses epsilon = {plan.accounting.epsilon:.4g}."
            )
            return NoGuarantee(
                reason=f"{reason} {loss_words}",
                assumptions=public_assumptions(policy),
                conditional=policy.conditional_columns,
            )
        claim = self.published_claim()
        return self.promise(policy, plan.accounting.epsilon, published_claim=claim)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Grow the forest from counts, and draw rows or write cells from what is noisy."""
        plan = self.plan(policy)
        progress("growing", 0.0)
        counter = counter_of(source, engine, plan.schema, self.used_rows(source, policy, engine, rng))
        forest = self.grow(plan, counter, rng, progress)
        accounting = replace(plan.accounting, is_void=self.no_guarantee() is not None)
        return forest_draft(forest, accounting, policy, engine, rng, self.as_, self.method_entry)


@dataclass(frozen=True, kw_only=True)
class GrownTrees(TreeMethod[Plan]):
    """A tree method of the common grower: its choices are in the table of `budget_rules.tree_rule`."""

    def selection(self, trees: RequestedTrees) -> SplitSelection:
        """Return the selection of splits."""
        kind = CutThenAttribute if trees.paper.split == CUTS else JointSelection
        return kind(score=SCORES[trees.score], mechanism=trees.paper.law, slack=trees.slack)

    def choices(self, schema: TreeSchema) -> Choices:
        """Return the grower of this method's trees."""
        given = vars(self)
        trees = self.requested(schema)
        return Choices(
            rows=ROWS[trees.rows](trees=trees.trees),
            levels=len(trees.weights),
            weights=trees.weights,
            selection=self.selection(trees),
            leaf=LabelOnly(slack=trees.slack) if trees.has_labels else NoisyClassCounts(),
            count_shares=trees.counted,
            threshold=(one_deviation if trees.paper.compares_one else friedman_schuster) if trees.stops else None,
            min_rows=given.get("min_rows", 0),
            align=trees.paper.leaf_takes_rest,
            square_root=trees.paper.square_root,
            noiseless_purity=given.get("stop") == "pure",
            vote=given.get("vote"),
            max_rows=given.get("max_rows", LARGEST_TABLE),
        )

    def plan_of(self, schema: TreeSchema) -> Plan:
        """Return the choices with schema and budget."""
        return Plan(
            choices=self.choices(schema),
            schema=schema,
            epsilon=self.epsilon,
            rows_per_unit=self.rows_per_unit,
            adjacency=self.neighbours,
        )

    def grow(self, plan: Plan, counter: Counter, rng: Randomness, progress: Progress) -> PublishedForest:
        """Return the noisy forest, level by level."""
        return grow(plan, counter, rng, lambda level: progress("growing", level / plan.levels))


def forest_draft(
    forest: PublishedForest,
    accounting: Accounting,
    policy: Policy,
    engine: Engine,
    rng: Randomness,
    form: str,
    method_entry: Mapping[str, Any],
) -> Draft:
    """Return the draft of a noisy forest: synthetic rows or cells, params and statement.

    Parameters
    ----------
    forest : PublishedForest
        The noisy forest, as it is published.
    accounting : Accounting
        The planned draws.
    policy : Policy
    engine : Engine
        Holds or draws the rows.
    rng : Randomness
        Key of the release.
    form : {"microdata", "cells"}
        Synthetic rows, or the leaves as generalized cells with noisy counts.
    method_entry : mapping
        Public facts about the method for the params.

    Privacy
    -------
    Post-processing: nothing in the draft depends on a count of the source but through its noisy value.
    """
    cells = cells_of(forest)
    if form == "microdata":
        rows = _microdata(forest, cells, policy, rng)
        data, described = rows.source(engine), rows.described()
    else:
        table, described = generalized(cells, policy)
        data = engine.hold(table)
    published = {**method_entry, **forest.to_params(), "columns": described}
    if policy.is_conditional:
        published["conditions"] = list(conditions_of(policy))
    return Draft(
        data=data,
        published=published,
        statement=accounting,
        columns=column_entries(policy, forest.schema.sizes, data.schema.names),
        notes=notes_on_bins(forest.schema.target, forest.schema.classes),
        details={
            "forest": {
                "trees": len(forest.trees),
                "nodes": sum(len(tree) for tree in forest.trees),
                "leaves": cells.size,
                "rows_per_tree": forest.rows_per_tree["kind"],
            },
        },
    )


def _microdata(forest: PublishedForest, cells: LeafCells, policy: Policy, rng: Randomness) -> PieceSampler:
    """Return the source of the rows that the cells represent."""
    schema, rng = forest.schema, rng.child("rows of cells")
    attributes = zip(schema.attributes, cells.allowed, strict=True)
    allowed = tuple(_without_missing(attribute, leads) for attribute, leads in attributes)
    return PieceSampler(
        rows=UniformRows(allowed=allowed, n_classes=schema.n_classes),
        numbers=rows_by_cell(cells, forest.share_of_rows, UniformStream(rng)),
        domains=schema.domains,
        policy=policy,
        randomness=rng,
    )


def _without_missing(attribute: Attribute, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of the codes of synthetic rows, shape (n_leaves, codes).

    Missing is drawn only where a leaf has nothing else: all codes of a leaf are equally likely, and a value of every
    domain would be as frequent in the release as it is rare in most tables.
    """
    if not attribute.domain.has_missing:
        return allowed
    options = allowed.copy()
    options[:, -1] &= ~allowed[:, :-1].any(axis=1)
    return options


def generalized(cells: LeafCells, policy: Policy) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Return one row per leaf and class: the cell in words, and its noisy count unchanged.

    Negative counts stay: clipping would bias the sums of a consumer. A leaf that publishes only its label has one row,
    without a count.

    Raises
    ------
    PolicyError
        A column of the table is named like the count column.
    """
    schema = cells.schema
    if COUNT_COLUMN in policy.columns:
        raise PolicyError(f"column {COUNT_COLUMN!r} has a name that the release needs", "rename it")
    classes = schema.n_classes
    cells_of_columns: dict[str, pa.Array] = {}
    columns: dict[str, dict[str, Any]] = {}
    for attribute, allowed in zip(schema.attributes, cells.allowed, strict=True):
        words = [label_of(attribute, allowed_codes) for allowed_codes in allowed for _ in range(classes)]
        known = Categories(values=tuple(sorted(set(words))))
        cells_of_columns[attribute.name] = pa.array(words, pa.string()).dictionary_encode()
        columns[attribute.name] = described(attribute.name, known)
    labels = np.tile(np.arange(classes), cells.size)
    cells_of_columns[schema.target] = labelled(labels, schema.classes)
    columns[schema.target] = described(schema.target, named_classes(schema.classes))
    names = [name for name in policy.columns if name in cells_of_columns]
    counts = [
        None if content.counts is None else content.counts[label]
        for content in cells.contents
        for label in range(classes)
    ]
    table = pa.table({**{name: cells_of_columns[name] for name in names}, COUNT_COLUMN: pa.array(counts, pa.int64())})
    label_counts = np.array(
        [content.label is None or content.label == c for content in cells.contents for c in range(classes)]
    )
    count = {"name": COUNT_COLUMN, "type": "count", "domain": {"has_missing": True}}
    return table.filter(pa.array(label_counts)), [*(columns[name] for name in names), count]
