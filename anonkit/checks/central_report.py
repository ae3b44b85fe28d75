# SPDX-License-Identifier: Apache-2.0
"""The report of a noisy release compared with its params, block by block.

Means that a report states beside the columns of drawn rows: worked out again from the published noisy counts.

The method iterates to the end of an interval; here each stated end is put in, and the noise must reach just so far.
Ends are rounded outward by a thousandth of the width at most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.tree_rule import FLIP
from anonkit.checks.account_lines import finding_lines, looked_for_domains, model_lines
from anonkit.checks.aggregate_intervals import margin
from anonkit.checks.central_marginal_plan import delta_may_pay
from anonkit.checks.central_params import EXPONENTIAL, GAUSSIAN, Family, PublicColumn, PublicFacts, has_gaussian_tables
from anonkit.checks.central_rule import histograms_may_be_gaussian
from anonkit.checks.row_rules import determined_columns
from anonkit.checks.sameness import same
from anonkit.promises.guarantee import LOOKED_AT, Check

FloatArray = NDArray[np.float64]

_CHANCE = 0.05
"""Chance of a mean outside its interval: that of the report, by convention."""
_CARRIED = 0.5
"""Width of an interval, in deviations of its column, up to which rows carry the mean: that of the report."""
_NEAR = 5e-3
"""Share by which a margin may differ from the one tabulated here."""
_ROUNDED = 1.1e-3
"""Share of the width to which figures are rounded."""
_WIDE = 4.0
"""Square of the width of a discrete law from which on a sum of draws has the margin of a continuous one."""
_HISTOGRAMS = "histograms by class"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Counted:
    """Noisy counts of the numbers of a column by cell, missing ones left out."""

    column: PublicColumn
    counts: FloatArray
    draws: int
    rate: int
    is_gaussian: bool

    def reach(self, weights: FloatArray) -> float:
        """Return a bound on the noise of the weighted counts, but for the chance of an interval."""
        there = np.abs(weights[weights != 0])
        if not self.is_gaussian:
            half = math.exp(-self.rate / 2**52)
            scale = (1 + half) / (2 * (1 - half))
            return scale * margin(tuple((float(one), self.draws) for one in there), _CHANCE)
        square = 2**51 / self.rate
        variance = float((there**2).sum()) * self.draws * square
        if square < _WIDE:
            return math.sqrt(2 * variance * math.log(2 / _CHANCE))
        return NormalDist().inv_cdf(1 - _CHANCE / 2) * math.sqrt(variance) + float(there.sum())


def mean_checks(params: Mapping[str, Any], report: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Check the means of a report; nothing where it states none, as those of earlier versions.

    Parameters
    ----------
    params, report : mapping
    facts : PublicFacts
        Read from the params.
    """
    stated = {column["name"]: column["mean"] for column in report["columns"] if "mean" in column}
    if not stated:
        return
    counted = {one.column.name: one for one in _counted(params, facts)}
    wrong = len(set(stated) ^ set(counted))
    wrong += sum(not _follows(stated[name], one) for name, one in counted.items() if name in stated)
    yield Check(name="column_means", passed=wrong == 0, observed=wrong, required=0)


def _counted(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[_Counted]:
    """Yield the columns of numbers that noisy counts are published of."""
    own = {column.name: column for column in facts.columns if column.domain.bounds is not None}
    if facts.family is Family.MARGINALS:
        gaussian = has_gaussian_tables(params)
        for table in params["tables"]:
            if table["name"] in own:
                yield _of(own[table["name"]], [table["counts"]], int(table["rate"]), is_gaussian=gaussian)
        return
    for line in params["accounting"]:
        if line["purpose"] != _HISTOGRAMS:
            continue
        for at, column in enumerate(facts.attributes):
            regions = [np.array(tables[at], dtype=np.float64) for tables in params["histograms"]]
            if column.name in own and regions[0].size:
                tables = [region.T for region in regions]
                yield _of(column, tables, int(line["rate"]), is_gaussian=line["mechanism"] == GAUSSIAN)
    if facts.target.name in own and "histogram" in params["target"]:
        histogram = params["target"]["histogram"]
        yield _of(facts.target, [[histogram["counts"]]], int(histogram["rate"]), is_gaussian=False)


def _of(column: PublicColumn, tables: Sequence[Any], rate: int, *, is_gaussian: bool) -> _Counted:
    """Return the counts of a column, of tables of classes by codes."""
    joined = np.concatenate([np.array(table, dtype=np.float64) for table in tables])
    cells = column.domain.fine or column.domain.cells
    return _Counted(
        column=column, counts=joined.sum(axis=0)[:cells], draws=len(joined), rate=rate, is_gaussian=is_gaussian
    )


def _follows(stated: Mapping[str, Any], counted: _Counted) -> bool:
    """Return True if a stated mean, its interval, and whether the rows carry it, follow from the counts."""
    grid, counts = counted.column.domain.grid, counted.counts
    if counts.size != grid.middles.size:  # another check says so
        return False
    low, high = grid.edges[:-1].copy(), grid.edges[1:].copy()
    if grid.multiples is not None:
        half = grid.multiples.at(1) - grid.multiples.at(0)
        low[1:] += half
        high[:-1] -= half
    least, most = stated["low"], stated["high"]
    unit = _ROUNDED * (most - least)
    total = float(counts.sum())
    shares = counts / total if total > 0 else np.full(counts.size, 1 / counts.size)
    plain = float(shares @ grid.middles)
    inside = min(max(plain, least), most)
    if not least <= stated["value"] <= most or abs(stated["value"] - inside) > unit + 1e-9 * abs(inside):
        return False
    if not (
        _is_end(counted, low, least, 1, float(low[0]), unit) and _is_end(counted, high, most, -1, float(high[-1]), unit)
    ):
        return False
    spread = math.sqrt(max(float(shares @ (grid.middles - plain) ** 2), 0.0))
    close = abs((most - least) - _CARRIED * spread) <= 3 * unit
    return close or stated["of_the_rows"] is bool(most - least <= _CARRIED * spread)


def _is_end(counted: _Counted, values: FloatArray, end: float, side: int, outermost: float, unit: float) -> bool:
    """Return True if the noise reaches just as far as a mean at this end of the interval would need.

    `side` is 1 for the lower end and -1 for the upper one; `outermost` is the bound that no mean is beyond.
    """
    counts = counted.counts
    total = float(counts.sum())
    nothing = total <= counted.reach(np.ones_like(counts)) * (1 + _NEAR)
    needed, reached = side * float(counts @ (values - end)), counted.reach(values - end)
    if abs(end - outermost) <= unit:
        return nothing or needed <= reached * (1 + _NEAR) + abs(total) * unit
    if total <= counted.reach(np.ones_like(counts)) * (1 - _NEAR):
        return False  # nothing is known: the interval is all that there can be
    return reached * (1 - _NEAR) <= needed <= reached * (1 + _NEAR) + total * unit


_STEP = Fraction(1, 1 << 52)
_WHOLE = re.compile(r"That all numbers of (.+) are whole is public knowledge: the types of the source say so\.")
_TRUTH = re.compile(r"That all values of (.+) are false or true is public knowledge: the types of the source say so\.")
_HALVED = " for this; its choices of splits lose half of their shares."
_HALVED_BY_FLIP = (
    "; what it chooses by permute-and-flip loses half of its share, since a row that comes moves all scores one way."
)
_PUBLIC_COLUMNS = "That the table has these columns, with their names and their types, is public knowledge."


def report_checks(
    params: Mapping[str, Any], report: Mapping[str, Any], facts: PublicFacts, *, is_promised: bool
) -> Iterator[Check]:
    """Compare method, parameters, budget, forest and columns of the report with the params.

    Parameters
    ----------
    params : mapping
    report : mapping
    facts : PublicFacts
        Read from the params.
    is_promised : bool
        False where nothing is promised: then nothing was spent, either.
    """
    following = determined_columns(params).values()
    stepped = [column.name for column in following if column.domain.multiples is not None]
    facts = replace(facts, added_multiples=(*facts.added_multiples, *stepped))
    method = report["method"]
    repeated = same(method["parameters"], dict(facts.parameters))
    yield Check(name="parameters", passed=repeated, observed=str(method["name"]), required=str(method["name"]))
    if is_promised:
        yield _claim_check(report["guarantee"], facts, found=looked_for_domains(params))
    yield from _budget_checks(params, report["budget"], facts) if is_promised else _nothing_spent(report["budget"])
    columns = {column["name"]: column for column in report["columns"]}
    released = [column["name"] for column in params["columns"]]
    synthesized = [name for name, column in columns.items() if column["action"] == "synthesized"]
    yield Check(
        name="columns_of_params", passed=synthesized == released, observed=len(synthesized), required=len(released)
    )
    every = [*facts.columns, *following]
    sizes = {column.name: column.domain.size for column in every}
    wrong = [name for name, size in sizes.items() if columns.get(name, {}).get("released_values") != size]
    yield Check(name="released_values", passed=not wrong, observed=len(wrong), required=0)
    units = [name for name, column in columns.items() if column["role"] == "unit"]
    unit = report["guarantee"]["parameters"].get("unit_column", units[0] if units else None)
    right = units == ([] if unit is None else [unit]) and (units != [] or facts.parameters["rows_per_unit"] == 1)
    yield Check(name="unit", passed=right, observed=", ".join(units) or None, required=unit)
    if is_promised and facts.family in (Family.MARGINALS, Family.STACKED):
        yield from mean_checks(params, report, facts)
    if facts.family is Family.MARGINALS:
        size, stated = _size_of_mixture(params), dict(report["marginals"])
        yield Check(name="marginals", passed=same(stated, size), observed=str(stated), required=str(size))
    if facts.family.has_trees:
        stated = dict(report["forest"])
        size = _size_of_stacked(params) if facts.family.is_stacked else _size_of_forest(params)
        yield Check(name="forest", passed=same(stated, size), observed=str(stated), required=str(size))


def _claim_check(guarantee: Mapping[str, Any], facts: PublicFacts, *, found: bool) -> Check:
    """Check the statement of the paper's claim, and of a public number of rows: both follow from the parameters."""
    stated, given = [guarantee["parameters"].get("published_claim")], facts.parameters
    claims = [assumption for assumption in guarantee["assumptions"] if assumption != LOOKED_AT]
    assumed = [assumption for assumption in claims if not str(assumption).startswith("CONDITIONAL: ")]
    stated += _without_types(assumed, facts)
    expected: list[str | None] = [None]
    if given.get("rows") == "published-bootstrap":
        expected = [
            f"The paper claims epsilon = {given['epsilon']:g}: it gives every tree epsilon / {given['trees']} as if a "
            "row were in it once. A bootstrap takes rows several times, and the copies add up."
        ]
    elif given.get("tables") == "published":
        expected = [
            f"The paper claims epsilon = {given['epsilon']:g}: it gives the counts of every attribute the whole budget "
            "of a level. A row is in the counts of all attributes, and their losses add up."
        ]
    elif facts.family.is_of_paper and facts.trees.slack > 1:
        less = _HALVED_BY_FLIP if facts.trees.paper.law == FLIP else _HALVED
        expected = [f"The paper claims epsilon = {given['epsilon']:g}{less}"]
    if given.get("n_rows"):
        expected.append(f"That there are about {given['n_rows']:,} rows is public knowledge.")
    if found:
        expected.append(_PUBLIC_COLUMNS)
    wrong = sum(assumption != other for assumption, other in zip(stated, expected, strict=False)) + abs(
        len(stated) - len(expected)
    )
    return Check(name="published_claim", passed=wrong == 0, observed=wrong, required=0)


def _without_types(assumed: Sequence[str], facts: PublicFacts) -> Sequence[str]:
    """Return the assumptions after the first ones, that types are public: of columns of integers, then of booleans."""
    whole = [column.name for column in facts.columns if column.domain.multiples is not None]
    truths = [column.name for column in facts.columns if column.domain.truth_values]
    for pattern, names in ((_WHOLE, [*whole, *facts.added_multiples]), (_TRUTH, truths)):
        found = pattern.fullmatch(str(assumed[0])) if assumed else None
        assumed = assumed[found is not None and _are_listed(found[1], names) :]
    return assumed


def _are_listed(text: str, names: Sequence[str]) -> bool:
    """Return True if a string lists some of these names, with a comma between two, and each once."""
    for name in names:
        others = [other for other in names if other != name]
        if text == name or (text.startswith(f"{name}, ") and _are_listed(text[len(name) + 2 :], others)):
            return True
    return False


def _nothing_spent(budget: Mapping[str, Any]) -> Iterator[Check]:
    """Check that the budget of a release without a promise is empty."""
    lines = len(budget["per_level"]) + len(budget["per_attribute"]) + (budget["epsilon"] is not None)
    yield Check(name="budget_lines", passed=lines == 0, observed=lines, required=0)


def _budget_checks(params: Mapping[str, Any], budget: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Compare the budget block with the lines of the account."""
    found, is_gaussian, family = finding_lines(params), facts.is_gaussian(params), facts.family
    spends = is_gaussian or looked_for_domains(params)
    spends = spends or (family is Family.MARGINALS and delta_may_pay(facts))
    spends = spends or (family is Family.STACKED and histograms_may_be_gaussian(facts, params))
    delta = facts.delta if spends else 0
    yield Check(name="delta", passed=budget["delta"] == delta, observed=str(budget["delta"]), required=delta)
    costs = [(line, _cost(line)) for line in model_lines(params)]
    stated: list[tuple[Any, Any]]
    expected: list[tuple[Any, Any]]
    if facts.family.has_trees:
        expected = _by_level(costs)
        stated = [_stated_level(one, line) for one, line in zip(expected, budget["per_level"], strict=False)]
        stated += [((), 0)] * (len(budget["per_level"]) - len(stated))
        spare = budget["per_attribute"]
    elif family is not Family.TABLES:
        kinds = ["rho" if "rho" in line else "epsilon" for line, _ in costs]
        stated = [
            ((cost_line["name"], kind), cost_line[kind])
            for kind, cost_line in zip(kinds, budget["per_attribute"], strict=False)
        ]
        expected = [((line["purpose"], kind), cost) for kind, (line, cost) in zip(kinds, costs, strict=True)]
        spare = [*budget["per_level"], *budget["per_attribute"][len(costs) :]]
    else:
        names = [params["target"]["name"], *(cost_line["name"] for cost_line in params["attributes"])]
        unit = "rho" if is_gaussian else "epsilon"
        stated = [((cost_line["name"], ""), cost_line[unit]) for cost_line in budget["per_attribute"]]
        expected = [((name, ""), cost) for name, (_, cost) in zip(names, costs, strict=False)]
        spare = budget["per_level"]
    wrong = len(spare) + abs(len(stated) - len(expected))
    wrong += sum(
        key != other or not math.isclose(cost_line, float(cost), rel_tol=1e-9)
        for (key, cost_line), (other, cost) in zip(stated, expected, strict=False)
    )
    found_lines = [
        {"name": line["purpose"], "epsilon": line["epsilon"], "delta": line.get("delta", 0)} for line in found
    ]
    wrong += not same(budget.get("domains", []), found_lines)
    yield Check(name="budget_lines", passed=wrong == 0, observed=wrong, required=0)


def _by_level(costs: Sequence[tuple[Mapping[str, Any], Fraction]]) -> list[tuple[Any, Any]]:
    """Return the loss of each level of the trees, splits and leaves apart; loss in rho comes last."""
    levels: dict[tuple[int | None, str, str], Fraction] = {}
    for line, cost in sorted(costs, key=lambda one: "rho" in one[0]):
        key = (line["level"], "leaf" if line["ends_path"] else "split", "rho" if "rho" in line else "epsilon")
        levels[key] = levels.get(key, Fraction(0)) + cost
    return list(levels.items())


def _stated_level(expected: tuple[Any, Any], line: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the loss that a line of the budget states, in the currency that is expected of it."""
    (*_, currency), _ = expected
    if set(line) != {"level", "part", currency}:
        return (), 0
    return (line["level"], line["part"], currency), line[currency]


def _cost(line: Mapping[str, Any]) -> Fraction:
    """Return the loss of one row for a line, in its own currency."""
    lost = line["rate"] * line["sensitivity"] * _STEP
    in_squares = "rho" in line and line["mechanism"] == EXPONENTIAL
    return Fraction(line["times"] * (lost**2 / 8 if in_squares else lost))


def _size_of_mixture(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected block of the report on the tables and the mixture."""
    return {
        "columns": len(params["tables"]),
        "pairs": len(params["pairs"]),
        "anchored": params["anchored"],
        "components": sum(len(own["weights"]) for own in params["mixtures"]),
        **({"triple": params["triple"]["names"]} if (params.get("triple") or {}).get("names") else {}),
    }


def _size_of_forest(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report's figures on the trees and the blocks beside them."""
    nodes = [node for tree in params["trees"] for node in tree]
    leaves = sum("children" not in node for node in nodes)
    return {**_nodes(params), "leaves": leaves, "rows_per_tree": params["rows_per_tree"]["kind"]}


def _size_of_stacked(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same of trees with scores."""
    rule = {name: params["rule"][name] for name in ("depth", "bins")}
    learned = params.keys() >= {"weights"}
    return {**_nodes(params), **rule, "regions": len(params["scores"]["regions"]), "weights_learned": learned}


def _nodes(params: Mapping[str, Any]) -> dict[str, Any]:
    return {"trees": len(params["trees"]), "nodes": sum(map(len, params["trees"]))}
