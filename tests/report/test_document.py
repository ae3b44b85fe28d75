# SPDX-License-Identifier: Apache-2.0
"""The schema of `report.json`: it takes what anonkit writes, and nothing that breaks the contract.

Two reports side by side: what differs, and which promise is the stronger one.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import anonkit
from anonkit.checks.disclosure import Disclosure
from anonkit.errors import ReleaseFormatError
from anonkit.pipeline.derived_columns import ROLE as SURROGATES
from anonkit.policy.column_declarations import Role
from anonkit.promises.anonymous_classes import Diversity, KAnonymity
from anonkit.promises.guarantee import BY_CONSTRUCTION, CHECKED, Check, NoGuarantee
from anonkit.randomness import SECURE, SEEDED
from anonkit.report.document import FORMAT, build_report, diff_reports
from anonkit.report.schemas import report_schema


@pytest.fixture(scope="module")
def reports() -> tuple[dict[str, Any], dict[str, Any]]:
    """The same table at k = 5 and at k = 8."""
    table = anonkit.datasets.bank_customers(300, seed=1)
    first, second = (dict(anonkit.release(table, method="mondrian", k=k).report) for k in (5, 8))
    return first, second


def test_nothing_differs_from_itself(reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The same promise, no difference."""
    found = diff_reports(reports[0], copy.deepcopy(reports[0]))
    assert found.differences == ()
    assert found.verdict == "the same promise"


def test_the_promise_comes_first(reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """k as it was and as it is, then rows, columns and figures."""
    found = diff_reports(reports[1], reports[0])
    assert found.verdict == "a stronger promise"
    assert found.differences[0].key == "guarantee.parameters.k"
    assert (found.differences[0].before, found.differences[0].after) == (5, 8)
    assert diff_reports(reports[0], reports[1]).verdict == "a weaker promise"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ({"k": 5, "t_closeness": 0.3}, {"k": 5, "t_closeness": 0.2}, "a stronger promise"),
        ({"k": 5}, {"k": 5, "l_diversity": 2}, "a stronger promise"),
        ({"k": 5, "l_diversity": 2}, {"k": 9}, "not comparable"),
        ({"epsilon": 1.0}, {"epsilon": "inf"}, "a weaker promise"),
        ({"k": 5, "quasi_identifiers": ["a"]}, {"k": 9, "quasi_identifiers": ["b"]}, "not comparable"),
    ],
)
def test_which_promise_is_stronger(
    reports: tuple[dict[str, Any], dict[str, Any]], before: dict[str, Any], after: dict[str, Any], verdict: str
) -> None:
    """More k and l, less t and epsilon; both ways at once cannot be compared."""
    old, new = ({**reports[0], "guarantee": {**reports[0]["guarantee"], "parameters": one}} for one in (before, after))
    assert diff_reports(new, old).verdict.startswith(verdict)


def test_another_kind_is_not_comparable(reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """No figure turns k into epsilon."""
    other = {**reports[0], "guarantee": {**reports[0]["guarantee"], "kind": "local-dp"}}
    assert diff_reports(other, reports[0]).verdict == "not comparable: k-anonymity before, local-dp now"


def test_what_is_no_report_is_refused() -> None:
    """Damaged files are named as such."""
    with pytest.raises(ReleaseFormatError):
        diff_reports({}, {})


Report = dict[str, Any]


def _errors(report: Report) -> list[str]:
    validator = jsonschema.Draft202012Validator(report_schema(), format_checker=jsonschema.FormatChecker())
    return [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(json.loads(json.dumps(report)))]


def _report(promise: Any, **more: Any) -> Report:
    given: dict[str, Any] = {
        "version": "0.1.0",
        "method": {"name": "m", "preset": None, "parameters": {"k": 5, "l": None}, "paper": "P", "summary": "S"},
        "promise": promise,
        "columns": [
            {"name": "n", "role": "identifier", "action": "dropped", "reason": "identifiers are never released"},
            {
                "name": "q",
                "role": "quasi_identifier",
                "action": "generalized",
                "values": ["a|b", None],
                "importance": 0.5,
            },
            {"name": "s", "role": "sensitive", "sensitive": True, "action": "kept"},
        ],
        "rows": {"in": 40, "suppressed": 0, "suppressed_fraction": 0.0, "out": 40},
        "checks": [Check(name="k_anonymity", passed=True, observed=8, required=5)],
        "randomness": SECURE,
        "disclosure_risk": {},
        "details": {},
        "dataset": None,
        "domains_declared_by": None,
        "notes": [],
    }
    return build_report(**{**given, **more})


def _k_anonymous() -> Report:
    found = {"l": 2.0, "entropy_l": 1.9, "t": 0.1, "alpha": 0.6, "recursive_c_2": 1.5}
    risk = Disclosure(rows=40, classes=4, k=8, people=None, class_sizes=((8, 3), (16, 1)), sensitive={"s": found})
    promise = KAnonymity(
        k=5, quasi_identifiers=("q",), sensitive=("s",), diversity=Diversity(l=2, recursive=(3.0, 2), t=0.2, alpha=0.9)
    )
    return _report(
        promise, disclosure_risk=risk.to_dict(0.2), details={"search": {"steps": 2}, "utility": {"auc": 0.8}}
    )


class _Private:
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def to_dict(self) -> Report:
        return {
            "kind": self.kind,
            "statement": "s",
            "formal": "f",
            "parameters": {"epsilon": 1.0},
            "unit": "one row",
            "adjacency": "replace-one",
            "assumptions": [],
            "basis": BY_CONSTRUCTION,
            "not_protected": ["n"],
        }


def _private(kind: str = "local-dp") -> Report:
    budget = {
        "epsilon": 1.0,
        "delta": 0.0,
        "per_attribute": [{"name": "q", "epsilon": 1.0}],
    }
    return _report(_Private(kind), checks=[], rows={"in": None, "out": 40}, details={"budget": budget})


def _none() -> Report:
    return _report(NoGuarantee(reason="r"), checks=[], details={"budget": {"epsilon": "inf"}})


@pytest.mark.parametrize(
    "make",
    [_k_anonymous, _private, lambda: _private("central-dp"), _none],
    ids=["k-anonymity", "local-dp", "central-dp", "none"],
)
def test_reports_of_every_kind_are_valid(make: Callable[[], Report]) -> None:
    """The reports of `build_report` for each kind of promise are valid."""
    assert _errors(make()) == []


def test_an_empty_table_has_a_valid_report() -> None:
    """No rows, no classes, no values: still a report."""
    risk = Disclosure(
        rows=0,
        classes=0,
        k=0,
        people=0,
        class_sizes=(),
        sensitive={"s": dict.fromkeys(("l", "entropy_l", "t", "alpha"), 0.0)},
    )
    report = _report(KAnonymity(k=5, quasi_identifiers=("q",)), disclosure_risk=risk.to_dict(0.2))

    assert _errors(report) == []


def test_the_schema_is_a_schema() -> None:
    """The document is JSON Schema 2020-12."""
    jsonschema.Draft202012Validator.check_schema(report_schema())


@pytest.mark.parametrize("key", report_schema()["required"])
def test_no_block_of_the_contract_may_be_missing(key: str) -> None:
    """Every key of the contract is required, and written by `build_report`."""
    report = _k_anonymous()
    del report[key]

    assert _errors(report)


BROKEN: dict[str, tuple[Callable[[], Report], tuple[str | int, ...], Any]] = {
    "unknown kind": (_k_anonymous, ("guarantee", "kind"), "anonymous"),
    "unknown basis": (_k_anonymous, ("guarantee", "basis"), "believed"),
    "unknown key in the promise": (_k_anonymous, ("guarantee", "strength"), "high"),
    "no limits told": (_private, ("guarantee", "not_protected"), []),
    "no plain words": (_private, ("guarantee", "statement"), ""),
    "k-anonymity by construction": (_k_anonymous, ("guarantee", "basis"), BY_CONSTRUCTION),
    "k-anonymity without k": (_k_anonymous, ("guarantee", "parameters"), {"quasi_identifiers": ["q"]}),
    "k-anonymity without risks": (_k_anonymous, ("disclosure_risk",), {}),
    "k-anonymity without its check": (_k_anonymous, ("verification", "checks"), []),
    "privacy loss without epsilon": (_private, ("guarantee", "parameters"), {}),
    "privacy loss without budget": (_private, ("budget", "epsilon"), None),
    "privacy loss without adjacency": (_private, ("guarantee", "adjacency"), None),
    "privacy loss without unit": (_private, ("guarantee", "unit"), None),
    "privacy loss read off the output": (_private, ("guarantee", "basis"), CHECKED),
    "negative epsilon": (_private, ("budget", "epsilon"), -1.0),
    "negative epsilon of an attribute": (_private, ("budget", "per_attribute", 0, "epsilon"), -1.0),
    "delta above one": (_private, ("budget", "delta"), 1.5),
    "unknown role": (_k_anonymous, ("columns", 1, "role"), "quasi-identifier"),
    "unknown action": (_k_anonymous, ("columns", 1, "action"), "coarsened"),
    "identifier released": (_k_anonymous, ("columns", 0, "action"), "kept"),
    "person released": (_k_anonymous, ("columns", 0, "role"), "unit"),
    "other randomness": (_k_anonymous, ("randomness",), "seeded"),
    "other format": (_k_anonymous, ("format",), "anonkit-report/9"),
    "no date": (_k_anonymous, ("created",), 2026),
    "rows not counted": (_k_anonymous, ("rows",), {"in": 40}),
    "more than all suppressed": (_k_anonymous, ("rows", "suppressed_fraction"), 12.0),
    "risk above one": (_k_anonymous, ("disclosure_risk", "prosecutor", "max"), 1.2),
    "class of no rows": (_k_anonymous, ("disclosure_risk", "class_sizes", 0, "size"), 0),
    "check without a verdict": (_k_anonymous, ("verification", "checks", 0, "passed"), None),
    "check with a remark": (_k_anonymous, ("verification", "checks", 0, "hint"), "x"),
    "stray figure at the top": (_k_anonymous, ("accuracy",), 0.9),
}


@pytest.mark.parametrize(("make", "path", "value"), BROKEN.values(), ids=BROKEN)
def test_what_breaks_the_contract_is_refused(
    make: Callable[[], Report], path: tuple[str | int, ...], value: Any
) -> None:
    """A report with one wrong value is invalid."""
    report = copy.deepcopy(make())
    block: Any = report
    for key in path[:-1]:
        block = block[key]
    if path == ("columns", 0, "role"):
        block["action"] = "kept"
    block[path[-1]] = value

    assert _errors(report)


def test_the_schema_lists_what_the_code_knows() -> None:
    """Roles, with that of surrogates; randomness texts, bases and the format are those of the code."""
    schema = report_schema()
    block = schema["$defs"]

    assert block["column"]["properties"]["role"]["enum"] == [*map(str, Role), SURROGATES]
    assert schema["properties"]["randomness"]["enum"] == [SECURE, SEEDED]
    assert block["guarantee"]["properties"]["basis"]["enum"] == [CHECKED, BY_CONSTRUCTION]
    assert schema["properties"]["format"]["const"] == FORMAT
    assert {KAnonymity.kind, NoGuarantee.kind} < set(block["guarantee"]["properties"]["kind"]["enum"])


def test_every_key_of_the_schema_has_its_line_in_the_docs(repository: Path) -> None:
    """docs/reference/report.md explains each key by name."""
    page = (repository / "docs" / "reference" / "report.md").read_text(encoding="utf-8")

    def names(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return set().union(*map(names, schema))
        if not isinstance(schema, dict):
            return set()
        inner = schema.get("properties", {})
        return set(inner) | set().union(*(names(value) for value in [*inner.values(), *schema.values()]))

    missing = {
        name for name in names(report_schema()) - {"items"} if f"`{name}`" not in page and f".{name}`" not in page
    }
    assert not missing
