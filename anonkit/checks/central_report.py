# SPDX-License-Identifier: Apache-2.0
"""The report of a noisy release compared with its params, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from anonkit.checks.central_params import PublicFacts
from anonkit.promises.guarantee import Check

_STEP = Fraction(1, 1 << 52)


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
    method, stated = report["method"], (facts.method, dict(facts.parameters))
    same = (method["name"], method["parameters"]) == stated and _alike(method["parameters"], facts.parameters)
    yield Check(name="parameters", passed=same, observed=str(method["name"]), required=facts.method)
    if is_promised:
        yield _claim_check(report["guarantee"], facts)
    yield from _budget_checks(params, report["budget"]) if is_promised else _nothing_spent(report["budget"])
    columns = {column["name"]: column for column in report["columns"]}
    released = [column["name"] for column in params["columns"]]
    synthesized = [name for name, column in columns.items() if column["action"] == "synthesized"]
    yield Check(
        name="columns_of_params", passed=synthesized == released, observed=len(synthesized), required=len(released)
    )
    sizes = {column.name: column.domain.size for column in (facts.target, *facts.attributes)}
    wrong = [name for name, size in sizes.items() if columns.get(name, {}).get("released_values") != size]
    yield Check(name="released_values", passed=not wrong, observed=len(wrong), required=0)
    units = [name for name, column in columns.items() if column["role"] == "unit"]
    unit = report["guarantee"]["parameters"].get("unit_column", units[0] if units else None)
    right = units == ([] if unit is None else [unit]) and (units != [] or facts.parameters["rows_per_unit"] == 1)
    yield Check(name="unit", passed=right, observed=", ".join(units) or None, required=unit)
    if "trees" in params:
        nodes = [node for tree in params["trees"] for node in tree]
        counted = (len(params["trees"]), len(nodes))
        figures = (report["forest"]["trees"], report["forest"]["nodes"])
        yield Check(name="forest", passed=counted == figures, observed=str(figures), required=str(counted))


def _claim_check(guarantee: Mapping[str, Any], facts: PublicFacts) -> Check:
    """Check what is said of the paper's claim, and of a number of rows that is public: what the parameters make."""
    stated, given = [guarantee["parameters"]["published_claim"]], facts.parameters
    stated += [assumption for assumption in guarantee["assumptions"] if not str(assumption).startswith("CONDITIONAL: ")]
    expected: list[str | None] = [None]
    if given.get("rows") == "published-bootstrap":
        expected = [
            f"The paper claims epsilon = {given['epsilon']:g}: it gives every tree epsilon / {given['trees']} as if a "
            "row were in it once. A bootstrap takes rows several times, and the copies add up."
        ]
    elif facts.method in ("diffp-id3", "diffp-c45") and given["rate"] == "published":
        expected = [
            f"The paper claims epsilon = {given['epsilon']:g} for this; its choices of splits lose half of their "
            "shares."
        ]
    if given.get("n_rows"):
        expected.append(f"That there are about {given['n_rows']:,} rows is public knowledge.")
    wrong = sum(assumption != other for assumption, other in zip(stated, expected, strict=False)) + abs(
        len(stated) - len(expected)
    )
    return Check(name="published_claim", passed=wrong == 0, observed=wrong, required=0)


def _nothing_spent(budget: Mapping[str, Any]) -> Iterator[Check]:
    """Check that the budget of a release without a promise is empty."""
    lines = len(budget["per_level"]) + len(budget["per_attribute"]) + (budget["epsilon"] is not None)
    yield Check(name="budget_lines", passed=lines == 0, observed=lines, required=0)


def _budget_checks(params: Mapping[str, Any], budget: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the budget block with the lines of the account."""
    yield Check(name="delta", passed=budget["delta"] == 0, observed=str(budget["delta"]), required=0)
    costs = [(line, line["rate"] * line["sensitivity"] * line["times"] * _STEP) for line in params["accounting"]]
    if "trees" in params:
        levels: dict[tuple[int | None, str], Fraction] = {}
        for line, cost in costs:
            key = (line["level"], "leaf" if line["ends_path"] else "split")
            levels[key] = levels.get(key, Fraction(0)) + cost
        stated = [((cost_line["level"], cost_line["part"]), cost_line["epsilon"]) for cost_line in budget["per_level"]]
        expected = list(levels.items())
        spare = budget["per_attribute"]
    else:
        names = [params["target"]["name"], *(cost_line["name"] for cost_line in params["attributes"])]
        stated = [((cost_line["name"], ""), cost_line["epsilon"]) for cost_line in budget["per_attribute"]]
        expected = [((name, ""), cost) for name, (_, cost) in zip(names, costs, strict=False)]
        spare = budget["per_level"]
    wrong = len(spare) + abs(len(stated) - len(expected))
    wrong += sum(
        key != other or not math.isclose(cost_line, float(cost), rel_tol=1e-9)
        for (key, cost_line), (other, cost) in zip(stated, expected, strict=False)
    )
    yield Check(name="budget_lines", passed=wrong == 0, observed=wrong, required=0)


def _alike(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Tell whether two mappings hold values of the same kinds: 1 is not True, and 1.0 is not "1.0"."""
    return all(isinstance(first[name], bool) == isinstance(second[name], bool) for name in second)
