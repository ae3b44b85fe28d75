# SPDX-License-Identifier: Apache-2.0
"""Validation of true rows under k-anonymity and differential privacy: draw, classes, columns and report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.data_files import read_schema
from anonkit.checks.agreement import budget_checks, verification_checks
from anonkit.checks.anonymity import figure_checks, recounted
from anonkit.checks.class_promise import PromiseEvidence
from anonkit.checks.draw_loss import budget_lines, draw_checks
from anonkit.checks.recoded_labels import label_checks
from anonkit.checks.requirements import Validation, refuse_unknown
from anonkit.checks.sameness import named, none_of, repeated, same
from anonkit.checks.scored_rows import no_prediction
from anonkit.checks.table_scans import combined
from anonkit.errors import ParameterError
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

_RECODED = ("quasi_identifier", "sensitive")
_SHOWN = ("kept", "generalized")
_SPACING = 1e-6
"""By how much of a width cuts may be off, being floats."""
_DETAILS = {"kept": "full", "generalized": "generalized"}
"""Detail of a column in the report, by its treatment; of others none."""


def drawn_draft(data: Path, params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Check a draft of drawn rows, from its data file, its params and its promise."""
    stated = {**params, "method_parameters": report["method"]["parameters"]}
    yield from draw_checks(data, stated, report["guarantee"])
    yield from _domains(data, params)


def validate_drawn(evidence: PromiseEvidence) -> Validation:
    """Recount the classes and the loss, and compare them with the promise, the report and the requirements."""
    params, report, data = evidence.release.params, evidence.release.report, evidence.labels.data
    schema, requested, claimed = evidence.schema, evidence.asked, report["guarantee"]["parameters"]
    if requested.against.is_given:
        raise ParameterError(
            "the rows of this release were drawn by coins: it is no simple random sample of a population",
            "leave the population out",
        )
    promise = KAnonymity(k=claimed["k"], quasi_identifiers=tuple(claimed["quasi_identifiers"]), may_be_empty=True)
    refuse_unknown([*(requested.quasi_identifiers or ()), *requested.sensitive], schema.names)
    disclosure = recounted(
        data, schema, promise, requested.quasi_identifiers, requested.sensitive, params, report["rows"]
    )
    made = [*promise.verify(disclosure), *draw_checks(data, params, report["guarantee"]), *_domains(data, params)]
    found = [*_columns(params, report, schema), *label_checks(data, schema.names, params, report)]
    if requested.quasi_identifiers is None:
        found += figure_checks(report, disclosure, promise, params)
        found.append(no_prediction(report))
        found += verification_checks(report, [*made, *evidence.repeated], ())
    more = [check for check in requested.checks(disclosure, requested.sensitive) if check not in made]
    return Validation(checks=(*evidence.checks, *budget_checks(report), *made, *found, *more), disclosure=disclosure)


def described_columns(params: Mapping[str, Any]) -> set[str]:
    """Return the names of the columns that the params account for."""
    return {str(column["name"]) for column in params["columns"]}


def _domains(data: Path, params: Mapping[str, Any]) -> Iterator[Check]:
    """Check that columns which show categories as they are show declared ones, and cuts lie between bounds."""
    declared, recoded = dict(named(params["columns"])), dict(named(params["recoding"]["columns"]))
    target = params["target"]
    recoded |= {} if target is None else {target: {"kind": "kept"}}  # others show one value, and leave a draft
    names = sorted(set(read_schema(data).names) & recoded.keys())
    kept = [name for name in names if recoded[name]["kind"] == "kept"]
    with combined(data, kept) as lines:
        for name in names:
            own, domain = recoded[name], declared[name]["domain"]
            if own["kind"] == "intervals":
                yield none_of(f"cuts:{name}", _wrong_cuts([Fraction(cut) for cut in own["cuts"]], domain["bounds"]))
            elif own["kind"] == "kept":
                allowed = {*domain["categories"], *([None] if domain["has_missing"] else [])}
                cells = lines.connection.execute(f"SELECT DISTINCT {lines.column(name)} FROM {lines.source}").fetchall()
                yield none_of(f"domain:{name}", len({cell for (cell,) in cells} - allowed))
            else:
                yield none_of(f"values:{name}", not same(own["values"], domain["categories"]))


def _wrong_cuts(cuts: Sequence[Fraction], bounds: Sequence[float]) -> int:
    """Count the cuts that are not all multiples of one width between the bounds; a single one may be of any width."""
    low, high = (Fraction(bound) for bound in bounds)
    wrong = sum(not low < cut < high for cut in cuts)
    if len(cuts) < 2:
        return wrong
    width = cuts[1] - cuts[0]
    near = (
        [abs(float((right - left) / width) - 1) < _SPACING for left, right in pairwise(cuts)] if width > 0 else [False]
    )
    ends = [cuts[0] - low, high - cuts[-1]]
    return wrong + near.count(False) + sum(float(end / width) > 1 + _SPACING for end in ends if width > 0)


def _columns(params: Mapping[str, Any], report: Mapping[str, Any], schema: pa.Schema) -> Iterator[Check]:
    """Check that promise, params, report, recoding and data treat every column in the same way, and state no more."""
    declared, recoded = dict(named(params["columns"])), dict(named(params["recoding"]["columns"]))
    stated = dict(named(report["columns"]))
    wrong = repeated([entry["name"] for entry in params["columns"]]) + repeated(
        [entry["name"] for entry in params["recoding"]["columns"]]
    )
    roles = {name: entry["role"] for name, entry in stated.items()}
    may_be_shown = sorted(name for name, role in roles.items() if role in _RECODED)
    targets = [name for name, role in roles.items() if role == "target"]
    facts: Sequence[bool] = (
        list(report["guarantee"]["parameters"]["quasi_identifiers"]) == may_be_shown,
        targets == ([] if params["target"] is None else [params["target"]]),
        declared.keys() == {*may_be_shown, *targets},
        all(entry["role"] == roles[name] for name, entry in declared.items() if name in roles),
        recoded.keys() <= set(may_be_shown),
        set(schema.names) == {name for name, entry in stated.items() if entry["action"] in _SHOWN},
        set(schema.names) == {*recoded, *targets},
        all(
            same(own["missing"], declared[name]["domain"]["has_missing"])
            for name, own in recoded.items()
            if "missing" in own
        ),
        all("has_missing" in entry["domain"] for entry in declared.values()),
        all(field.type == pa.string() for field in schema),
    )
    yield none_of("columns", wrong + sum(not fact for fact in facts))
    actions = {**{name: "kept" if own["kind"] == "kept" else "generalized" for name, own in recoded.items()}}
    actions |= dict.fromkeys(targets, "kept")
    treated = [
        entry["action"] == actions.get(name, "dropped") and entry.get("detail") == _DETAILS.get(entry["action"])
        for name, entry in stated.items()
    ]
    yield none_of("actions", treated.count(False))
    budget = report["budget"]
    yield none_of(
        "budget_lines", not (same(budget["per_attribute"], budget_lines(params)) and same(budget["per_level"], []))
    )
    # how many rows the table has, and how many were drawn, no noise covers
    yield none_of("rows", set(report["rows"]) != {"out"})
