# SPDX-License-Identifier: Apache-2.0
"""What all tree methods share: the plan from the policy, the promise from the plan, the draft from the grown forest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from anonkit.central_dp import ADD_OR_REMOVE, REPLACE, CentralDP
from anonkit.coded_rows import counter_of, first_rows_of_units
from anonkit.errors import ParameterError, PolicyError
from anonkit.guarantee import Guarantee, NoGuarantee
from anonkit.mechanisms.accounting import Accounting
from anonkit.mechanisms.domains import Categories, Grid
from anonkit.parameters import check_choice, check_number, parameter
from anonkit.policy import Column, Policy, Role, TargetUse
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.public_domains import attributes_of, bounds_of, categories_of, conditions_of, may_be_missing
from anonkit.randomness import Randomness
from anonkit.trees.attributes import Attribute, Split, TreeSchema
from anonkit.trees.cells import Cells, cells_of, label_of
from anonkit.trees.grower import grow
from anonkit.trees.microdata import draw_rows
from anonkit.trees.plan import Choices, Plan
from anonkit.trees.published import PublishedForest
from anonkit.trees.questions import Counter
from anonkit.trees.specialization import SpecializationPlan, specialize

FORMS = ("microdata", "cells")
ADJACENCIES = {"add-or-remove": ADD_OR_REMOVE, "replace": REPLACE}
COUNT_COLUMN = "count"


@dataclass(frozen=True, kw_only=True)
class TreeMethod:
    """The parameters of all tree methods; a method adds its own and says its `choices`."""

    target_use: ClassVar[TargetUse] = TargetUse.REQUIRED
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "central-dp",
            "statement": "Central differential privacy, delta 0, with at most the epsilon given unless the method's "
            "page says otherwise: no outcome becomes more than e^epsilon times as likely or as unlikely by one row "
            "more or less (one row replaced, with adjacency replace; all rows of a unit, with a unit column). Choices "
            "that look at rows without noise have no formal guarantee, and the report says so.",
        }
    )
    number_split: ClassVar[Split] = Split.CUT
    category_split: ClassVar[Split] = Split.MULTIWAY

    epsilon: float = parameter(range="(0, 40]", help="privacy loss of the whole release, for the unit of privacy")
    as_: str = parameter(
        default="microdata",
        range="one of these",
        help="publish rows drawn from the leaves, or the leaves as generalized cells with their counts",
        choices=FORMS,
    )
    adjacency: str = parameter(
        default="add-or-remove",
        range="one of these",
        help="which tables are neighbours; replaced rows cost twice as much",
        choices=tuple(ADJACENCIES),
    )
    rows_per_unit: int = parameter(
        default=1, range="[1, 1000]", help="with a unit column: most rows of a unit that are used; each costs as much"
    )
    bins: int = parameter(default=16, range="[2, 1024]", help="equal bins of each number, over its public bounds")

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, 0, 40, open_low=True)
        check_choice("as", self.as_, FORMS)
        check_choice("adjacency", self.adjacency, tuple(ADJACENCIES))
        check_number("rows_per_unit", self.rows_per_unit, 1, 1000)
        check_number("bins", self.bins, 2, 1024)

    def choices(self, schema: TreeSchema) -> Choices:
        """Return what makes this method's trees.

        Raises
        ------
        NotImplementedError
            Methods say it.
        """
        raise NotImplementedError

    def no_guarantee(self) -> str | None:
        """Return why nothing can be promised with these parameters; None where something can."""
        return None

    def published_claim(self) -> str | None:
        """Return what the paper claims, where something else holds."""
        return None

    def schema(self, policy: Policy) -> TreeSchema:
        """Return the attributes and classes, from public domains alone.

        Raises
        ------
        PolicyError
            A column has no public domain, or there is no target.
        """
        if policy.target is None:
            raise PolicyError("no column has role target", '--target NAME, or role = "target" in the policy')
        return TreeSchema(
            attributes=tuple(self._attribute(column) for column in attributes_of(policy)),
            target=policy.target,
            classes=categories_of(policy.column(policy.target)),
        )

    def _attribute(self, column: Column) -> Attribute:
        if column.bounds is None:
            return Attribute(name=column.name, domain=categories_of(column), split=self.category_split)
        lower, upper = bounds_of(column)
        grid = Grid(lower=lower, upper=upper, cells=self.bins, has_missing=may_be_missing(column))
        return Attribute(name=column.name, domain=grid, split=self.number_split)

    def grow(
        self, plan: Plan | SpecializationPlan, counter: Counter, rng: Randomness, progress: Progress
    ) -> PublishedForest:
        """Return the noisy forest of a plan."""
        if isinstance(plan, SpecializationPlan):
            return specialize(plan, counter, rng)
        return grow(plan, counter, rng, lambda level: progress("growing", level / plan.levels))

    def plan(self, policy: Policy) -> Plan | SpecializationPlan:
        """Return every draw of the release, before any data is seen."""
        if policy.unit is None and self.rows_per_unit != 1:
            raise ParameterError("rows_per_unit needs a unit column", "--unit NAME")
        return self.plan_of(self.schema(policy))

    def plan_of(self, schema: TreeSchema) -> Plan | SpecializationPlan:
        """Return the plan for a schema."""
        return Plan(
            choices=self.choices(schema),
            schema=schema,
            epsilon=self.epsilon,
            rows_per_unit=self.rows_per_unit,
            adjacency=ADJACENCIES[self.adjacency],
        )

    def guarantee(self, policy: Policy) -> Guarantee:
        """State the promise: what the planned draws add up to, never above the epsilon asked for."""
        plan = self.plan(policy)
        reason = self.no_guarantee()
        conditions = conditions_of(policy)
        if reason is not None:
            return NoGuarantee(reason=reason, assumptions=conditions)
        bounded = f"The table has at most {plan.max_rows:,} rows, which is public knowledge."
        return CentralDP(
            epsilon=plan.accounting.epsilon,
            adjacency=plan.adjacency,
            unit=policy.unit,
            rows_per_unit=plan.rows_per_unit,
            published_claim=self.published_claim(),
            assumptions=(*conditions, bounded),
            conditional=policy.domains_from_data,
        )

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Grow the forest from counts, and draw rows or write cells from what is noisy."""
        plan = self.plan(policy)
        if source.n_rows > plan.max_rows:
            raise PolicyError("the table has more rows than the public bound on them", "raise max_rows")
        progress("growing", 0.0)
        unit = policy.unit
        keep = None if unit is None else first_rows_of_units(engine, source, unit, self.rows_per_unit)
        counter = counter_of(source, engine, plan.schema, keep)
        forest = self.grow(plan, counter, rng, progress)
        return forest_draft(forest, plan, policy, engine, rng, self.as_, accounted=self.no_guarantee() is None)


def forest_draft(
    forest: PublishedForest,
    plan: Plan | SpecializationPlan,
    policy: Policy,
    engine: Engine,
    rng: Randomness,
    form: str,
    *,
    accounted: bool = True,
) -> Draft:
    """Return the draft of a noisy forest: its table, its params, its budget. No count of the source is in it."""
    cells = cells_of(forest)
    table, described = _microdata(forest, cells, policy, rng) if form == "microdata" else generalized(cells, policy)
    accounting = plan.accounting
    params = {**forest.to_params(), **accounting.to_params(), "columns": described}
    if not accounted:
        params["accounting"] = []
    if policy.domains_from_data:
        params["conditions"] = list(conditions_of(policy))
    nodes = sum(len(tree) for tree in forest.trees)
    return Draft(
        data=engine.hold(table),
        params=params,
        columns=column_entries(policy, plan.schema, table),
        details={
            "budget": {
                "epsilon": accounting.epsilon if accounted else None,
                "delta": 0 if accounted else None,
                "per_level": per_level(plan.accounting) if accounted else [],
            },
            "forest": {
                "trees": len(forest.trees),
                "nodes": nodes,
                "leaves": cells.size,
                "rows_per_tree": forest.rows_per_tree["kind"],
            },
        },
    )


def per_level(accounting: Accounting) -> list[dict[str, Any]]:
    """Return what is drawn on each level, per tree, as the account has it."""
    lines: dict[tuple[int | None, bool], float] = {}
    for draw in accounting.draws:
        key = (draw.level, draw.ends_path)
        lines[key] = lines.get(key, 0.0) + draw.epsilon
    return [
        {"level": level, "part": "leaf" if ends else "split", "epsilon": epsilon}
        for (level, ends), epsilon in lines.items()
    ]


def _microdata(
    forest: PublishedForest, cells: Cells, policy: Policy, rng: Randomness
) -> tuple[pa.Table, list[dict[str, Any]]]:
    schema = forest.schema
    drawn = draw_rows(cells, forest.share_of_rows, rng.child("rows of cells"))
    made: dict[str, pa.Array] = {schema.target: labelled(drawn.labels, schema.classes)}
    columns: dict[str, dict[str, Any]] = {schema.target: described(schema.target, schema.classes)}
    for at, attribute in enumerate(schema.attributes):
        codes, domain = drawn.codes[at], attribute.domain
        if isinstance(domain, Grid):
            numbers = domain.decode(codes)
            made[attribute.name] = pa.array(numbers, pa.float64(), mask=np.isnan(numbers))
        else:
            made[attribute.name] = labelled(codes, domain)
        columns[attribute.name] = described(attribute.name, domain)
    names = [name for name in policy.columns if name in made]
    return pa.table({name: made[name] for name in names}), [columns[name] for name in names]


def generalized(cells: Cells, policy: Policy) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Return one row a leaf and class: the cell in words, and its noisy count as it is."""
    schema = cells.schema
    if COUNT_COLUMN in policy.columns:
        raise PolicyError(f"column {COUNT_COLUMN!r} has a name that the release needs", "rename it")
    classes = schema.n_classes
    made: dict[str, pa.Array] = {}
    columns: dict[str, dict[str, Any]] = {}
    for attribute, allowed in zip(schema.attributes, cells.allowed, strict=True):
        words = [label_of(attribute, one) for one in allowed for _ in range(classes)]
        known = Categories(values=tuple(sorted(set(words))))
        made[attribute.name] = pa.array(words, pa.string()).dictionary_encode()
        columns[attribute.name] = described(attribute.name, known)
    labels = np.tile(np.arange(classes), cells.size)
    made[schema.target] = labelled(labels, schema.classes)
    columns[schema.target] = described(schema.target, schema.classes)
    names = [name for name in policy.columns if name in made]
    counts = [
        None if content.counts is None else content.counts[label]
        for content in cells.contents
        for label in range(classes)
    ]
    table = pa.table({**{name: made[name] for name in names}, COUNT_COLUMN: pa.array(counts, pa.int64())})
    shown = np.array(
        [content.label is None or content.label == c for content in cells.contents for c in range(classes)]
    )
    count = {"name": COUNT_COLUMN, "type": "count", "domain": {"has_missing": True}}
    return table.filter(pa.array(shown)), [*(columns[name] for name in names), count]


def described(name: str, domain: Categories | Grid) -> dict[str, Any]:
    """Return what the params tell of a released column."""
    kind = "number" if isinstance(domain, Grid) else "category"
    return {"name": name, "type": kind, "domain": domain.to_params()}


def labelled(codes: np.ndarray[Any, np.dtype[np.int64]], domain: Categories) -> pa.Array:
    """Return codes as the categories of a domain, dictionary-encoded."""
    absent = codes >= len(domain.values)
    indices = pa.array(np.where(absent, 0, codes).astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, pa.array(domain.values, pa.string()))


def column_entries(policy: Policy, schema: TreeSchema, table: pa.Table) -> list[dict[str, Any]]:
    """Return the `columns` block of the report."""
    sizes = {attribute.name: attribute.codes for attribute in schema.attributes} | {schema.target: schema.n_classes}
    out: list[dict[str, Any]] = []
    for name, column in policy.columns.items():
        entry = {"name": name, "role": str(column.role), "sensitive": column.is_sensitive}
        if name in table.column_names:
            out.append({**entry, "action": "synthesized", "released_values": sizes[name]})
        else:
            hidden = column.role in (Role.IDENTIFIER, Role.UNIT)
            reason = f"declared {column.role}: only what is synthesized is released"
            reason = "identifiers are never released" if hidden else reason
            out.append({**entry, "action": "dropped", "reason": reason})
    if COUNT_COLUMN in table.column_names and COUNT_COLUMN not in policy.columns:
        reason = "noisy count of the rows in the cell"
        out.append({"name": COUNT_COLUMN, "role": "insensitive", "action": "synthesized", "reason": reason})
    return out
