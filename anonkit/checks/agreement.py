# SPDX-License-Identifier: Apache-2.0
"""Consistency of statements every release repeats: promise, method, randomness, conditions, verification.

A promise is made of its parameters: its sentences are made again from those and compared. What cannot be made again
is in two files at least, and has to be the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anonkit.checks.sameness import counted, differing, named, none_of, repeated, same
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check
from anonkit.promises.promise_kinds import read_promise

_DROPPED = ("dropped_missing", "dropped_without_unit", "beyond_rows_per_person")
SECURE = "secure"


def agreement_checks(
    params: Mapping[str, Any], report: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[Check]:
    """Check that the params, the report and the manifest of the data agree.

    Parameters
    ----------
    params, report : mapping
        The sidecars.
    manifest : mapping
        Content of the data's metadata.
    """
    method = report["method"]
    yield none_of("promise", _not_made(report))
    stated = {"name": params["method"], "preset": params["preset"], "parameters": params["method_parameters"]}
    other = sum(not same(method[key], value) for key, value in stated.items())
    other += not same(manifest["method"], method["name"])
    yield none_of("method", other + (not same(params["anonkit_version"], report["anonkit_version"])))
    statements = [params.get("randomness"), report.get("randomness"), manifest.get("randomness")]
    yield Check(
        name="randomness",
        passed=statements == [SECURE] * 3,
        observed=next((str(word) for word in statements if word != SECURE), SECURE),
        required=SECURE,
    )
    yield none_of("assumptions", not same(params["assumptions"], report["guarantee"]["assumptions"]))
    yield none_of("treatment", _treated_otherwise(params, report))
    yield none_of("conditions", _contradictions(params, report, manifest))


def _not_made(report: Mapping[str, Any]) -> int:
    """Count the parts of the promise that its parameters do not make; all of them when they make no promise."""
    try:
        return differing(read_promise(report["guarantee"]).to_dict(), report["guarantee"])
    except (ReleaseFormatError, ArithmeticError):
        return len(report["guarantee"])


def _treated_otherwise(params: Mapping[str, Any], report: Mapping[str, Any]) -> int:
    """Count the columns of which the report states another role or treatment than the params do."""
    keys = ("role", "sensitive", "action")
    stated = {name: {key: entry[key] for key in keys if key in entry} for name, entry in named(report["columns"])}
    sensitive = {"sensitive": (True,), "target": (True, False)}
    odd = sum(entry.get("sensitive", False) not in sensitive.get(entry["role"], (False,)) for entry in stated.values())
    return differing(stated, params["treatment"]) + len(report["columns"]) - len(stated) + odd


def _contradictions(params: Mapping[str, Any], report: Mapping[str, Any], manifest: Mapping[str, Any]) -> int:
    """Count the places that say other domains were read from the table than the promise does."""
    names = report["guarantee"]["parameters"].get("domains_from_data", [])
    statements = params.get("conditions", [])
    marked = [name for name, entry in named(report["columns"]) if entry.get("domain_from_data", False) is not False]
    places = (
        same(manifest.get("conditions", []), statements),
        bool(statements) == bool(names),
        all(condition in report["guarantee"]["assumptions"] for condition in statements),
        [text for text in report["guarantee"]["assumptions"] if text.startswith("CONDITIONAL")] == statements,
        all(any(name in condition for condition in statements) for name in names),
        sorted(marked) == sorted(names),
    )
    return sum(not place for place in places)


def budget_checks(report: Mapping[str, Any]) -> Iterator[Check]:
    """Check that the budget is what the promise costs; a promise without epsilon spends none."""
    parameters, budget = report["guarantee"]["parameters"], report["budget"]
    stated = parameters.get("epsilon")
    passed = same(budget["epsilon"], stated) and same(budget["delta"], parameters.get("delta", 0 if stated else None))
    if stated is None:
        passed = passed and budget["per_level"] == budget["per_attribute"] == []
    yield Check(name="budget", passed=passed, observed=budget["epsilon"], required=stated)


def verification_checks(
    report: Mapping[str, Any], made: Sequence[Check], uncountable: Sequence[str]
) -> Iterator[Check]:
    """Compare the report's list of verified checks with the findings now.

    Parameters
    ----------
    made : sequence of Check
        The checks that are made when a release is written, as they come out now: the report has to state each, whatever
        it is called. Checks of what is written later, the report among it, can be in no report.
    uncountable : sequence of str
        Names of checks that only the source allows: they have to have passed, nothing else is known of them.
    """
    again = {check.name: check.to_dict() for check in made}
    stated = dict(named(report["verification"]["checks"]))
    wrong = repeated([entry["name"] for entry in report["verification"]["checks"]])
    for name, entry in stated.items():
        if name in again:
            wrong += not (entry["passed"] is True and differing(entry, again[name], figures=True) == 0)
        else:
            wrong += not (name in uncountable and entry["passed"] is True and _reached(entry))
    yield none_of("verification", wrong + sum(name not in stated for name in again))


def _reached(entry: Mapping[str, Any]) -> bool:
    """Return True if a check that only the source allows was passed; its margin is not always published."""
    if set(entry) != {"name", "passed", "observed", "required"}:
        return False
    required = counted(entry["required"])
    return entry["observed"] == f"{required} or more" or counted(entry["observed"]) >= required


def row_checks(report: Mapping[str, Any], n_rows: int) -> Iterator[Check]:
    """Check that the rows read are those released, suppressed and dropped; a central promise states the first only."""
    rows = report["rows"]
    yield Check(name="rows", passed=same(rows["out"], n_rows), observed=n_rows, required=counted(rows["out"]))
    if rows.get("in") is not None:
        accounted = n_rows + counted(rows["suppressed"]) + sum(counted(rows.get(name, 0)) for name in _DROPPED)
        read = counted(rows["in"])
        yield Check(name="rows_accounted", passed=read == accounted, observed=accounted, required=read)
