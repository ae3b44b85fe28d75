# SPDX-License-Identifier: Apache-2.0
"""The checker for each kind of promise that a report can state, one line a kind.

A promise cannot bring its own checker along. What is validated is a folder of files, perhaps changed by somebody; and a
check that shares code with what it checks finds no fault that both have. So the word `kind` of the report chooses among
the modules named here, none of which imports a method, a mechanism or the package of a family
(`tests/test_imports.py`).

What checks noise is imported when a promise about noise is checked: a k-anonymous release does without its thirty
modules.

There are two moments. *While a release is made* its draft is checked: a promise that does not hold on it is never
written. *Validated* are the files: everything the draft was checked for, and that the files agree with each other, that
every figure of the report follows from the params, and that `verification` says what comes out now. What the draft was
checked for is separate from the rest (`FileChecks`): that, and nothing else, has to be in the report.

The two moments of a check: while a release is written, and once its report is there.

Validation of true rows under k-anonymity and differential privacy: draw, classes, columns and report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from anonkit.bundle.data_files import read_schema
from anonkit.bundle.release_place import DATA
from anonkit.checks.class_promise import PromiseEvidence, figure_checks, recounted, validate_classes
from anonkit.checks.document_agreement import budget_checks, verification_checks
from anonkit.checks.draw_loss import budget_lines, draw_checks
from anonkit.checks.file_integrity import own_methods
from anonkit.checks.recoded_labels import label_checks
from anonkit.checks.requirements import Validation, refuse_unknown
from anonkit.checks.sameness import named, none_of, repeated, same
from anonkit.checks.scored_rows import no_prediction
from anonkit.checks.table_scans import combined
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check
from anonkit.promises.promise_kinds import of_kind


class FileChecks(NamedTuple):
    """The checks of a release's files, as they come out now."""

    made: Sequence[Check]
    """Those that were made of its draft, too: its report has to state them, each as it comes out."""
    later: Sequence[Check]
    """Those of what was not there yet, such as the report: no report can state them."""


_RECODED = ("quasi_identifier", "sensitive")
_SHOWN = ("kept", "generalized")
_SPACING = 1e-6
"""By how much of a width cuts may be off, being floats."""
_DETAILS = {"kept": "full", "generalized": "generalized"}
"""Detail of a column in the report, by its treatment; of others none."""


def sampled_draft(data: Path, params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Check a draft of drawn rows, from its data file, its params and its promise."""
    stated = {**params, "method_parameters": report["method"]["parameters"]}
    yield from draw_checks(data, stated, report["guarantee"])
    yield from _domains(data, params)


def validate_sampled(evidence: PromiseEvidence) -> Validation:
    """Recount the classes and the loss, and compare them with the promise, the report and the requirements."""
    params, report, data = evidence.release.params, evidence.release.report, evidence.labels.data
    schema, requested, claimed = evidence.schema, evidence.requirements, report["guarantee"]["parameters"]
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
    shown_as_is = [name for name in names if recoded[name]["kind"] == "kept"]
    with combined(data, shown_as_is) as lines:
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


Facts = Mapping[str, Any]
"""A JSON document: the params, or the report (while a release is made, the blocks of it that are known by then)."""


@dataclass(frozen=True, kw_only=True)
class PromiseChecker:
    """The checks of the releases under one kind of promise."""

    draft_checks: Callable[[Path, Facts, Facts], Iterable[Check]]
    """Checks of a draft, from its data file, its params and the known blocks of its report."""
    validate: Callable[[PromiseEvidence], Validation]
    """Every fact that can be derived from the files of a release."""
    described: Callable[[Facts], set[str]] | None
    """Names of the columns that the params account for; None where the roles of columns are compared instead."""


def checker_of(guarantee: Mapping[str, Any]) -> PromiseChecker:
    """Return the checker of the promise of a report.

    Parameters
    ----------
    guarantee : mapping
        The `guarantee` block.

    Raises
    ------
    ReleaseFormatError
        There is no such promise.
    """
    return of_kind(CHECKERS, guarantee)


def draft_checks(data: Path, params: Facts, report: Facts, *, unit: str | None) -> Iterator[Check]:
    """Check a draft by the checker of its promise.

    Parameters
    ----------
    data : path
        The draft, a Parquet file or folder.
    params, report : mapping
        Its params, and the blocks of its report that are known by then.
    unit : str, optional
        Column of the person of a row; it is in the draft and is taken out before anything is written.
    """
    checker = checker_of(report["guarantee"])
    yield from checker.draft_checks(data, params, report)
    if checker.described is not None:
        undescribed = _undescribed(data, checker.described(params), hidden={unit})
        if not undescribed.passed:  # a release in which it holds says so when its files are validated
            yield undescribed


# --- promises about classes ----------------------------------------------------------------------------------------


def _no_checks(data: Path, params: Facts, report: Facts) -> tuple[Check, ...]:
    """Return no check: the classes of a draft are counted with the people in them, which no file has yet."""
    return ()


# --- columns without noise -----------------------------------------------------------------------------------------


def _undescribed(data: Path, described: set[str], *, hidden: set[str | None]) -> Check:
    """Check that every column of the data is one that the params account for: any other shows true values as they are.

    Whatever the report states of such a column, that it was kept or synthesized, its loss is in no sum.
    """
    names = set(read_schema(data).names) - described - hidden
    return none_of("undescribed_columns", len(names))


def _synthesized_columns(params: Facts) -> set[str]:
    return {str(column["name"]) for column in params["columns"]}


def _randomized_columns(params: Facts) -> set[str]:
    names = {str(column["name"]) for column in params["attributes"]}
    names |= set() if params["target"] is None else {str(params["target"]["name"])}
    return names | (set() if params["asked_column"] is None else {str(params["asked_column"])})


def _has_account(params: Facts) -> bool:
    """Return True if params are of a central mechanism, which has an account even where nothing is promised."""
    return "accounting" in params


def _unpromised_columns(params: Facts) -> set[str]:
    return _synthesized_columns(params) if _has_account(params) else _randomized_columns(params)


# --- promises about noise ------------------------------------------------------------------------------------------


def _local_draft(data: Path, params: Facts, report: Facts) -> Iterator[Check]:
    from anonkit.checks.local_table import local_checks

    return local_checks(data, params, report, is_promised=True)


def _local_files(data: Path, params: Facts, report: Facts) -> FileChecks:
    from anonkit.checks.local_table import local_file_checks

    return local_file_checks(data, params, report, is_promised=True)


def _central_draft(data: Path, params: Facts, report: Facts) -> Iterator[Check]:
    if "statement" in params:
        from anonkit.checks.stated import stated_checks

        return stated_checks(data, params, report["guarantee"])
    if params.get("method") not in own_methods():  # whose params may hold blocks that no check reads
        raise ReleaseFormatError(
            "the method states no noise that its promise could be worked out from",
            "docs/how-to/add-a-noise-method.md says how a method states its draws",
        )
    from anonkit.checks.central import central_checks

    return central_checks(data, params, report["guarantee"], is_promised=True)


def _central_files(data: Path, params: Facts, report: Facts) -> FileChecks:
    made = list(_central_draft(data, params, report))
    if "statement" in params:
        from anonkit.checks.stated import stated_report_checks

        return FileChecks(made=made, later=list(stated_report_checks(params, report)))
    from anonkit.checks.central import central_report_checks

    return FileChecks(made=made, later=list(central_report_checks(params, report, is_promised=True)))


def _approximate_draft(data: Path, params: Facts, report: Facts) -> Iterator[Check]:
    if _has_account(params):
        return _central_draft(data, params, report)
    from anonkit.checks.approximate_account import approximate_checks

    return approximate_checks(data, params, report["guarantee"])


def _approximate_files(data: Path, params: Facts, report: Facts) -> FileChecks:
    if _has_account(params):
        return _central_files(data, params, report)
    from anonkit.checks.approximate_account import approximate_report_checks

    return FileChecks(
        made=list(_approximate_draft(data, params, report)), later=list(approximate_report_checks(params, report))
    )


def _unpromised_draft(data: Path, params: Facts, report: Facts) -> Iterator[Check]:
    """Check the statements of a release without a promise; its params name the family of its method."""
    from anonkit.checks.central import central_checks
    from anonkit.checks.local_table import local_checks

    if _has_account(params):
        return central_checks(data, params, report["guarantee"], is_promised=False)
    return local_checks(data, params, report, is_promised=False)


def _unpromised_files(data: Path, params: Facts, report: Facts) -> FileChecks:
    from anonkit.checks.central import central_report_checks
    from anonkit.checks.local_table import local_file_checks

    if _has_account(params):
        return FileChecks(
            made=list(_unpromised_draft(data, params, report)),
            later=list(central_report_checks(params, report, is_promised=False)),
        )
    return local_file_checks(data, params, report, is_promised=False)


def _validate_noise(
    evidence: PromiseEvidence, checks_of: Callable[[Path, Facts, Facts], FileChecks], *, has_budget: bool = True
) -> Validation:
    """Check a release whose promise is about noise: there are no classes that a k could be required of."""
    if evidence.requirements.anything:
        raise ParameterError(
            "k, l and t can be required of k-anonymous releases only", "this one promises something else"
        )
    params, report = evidence.release.params, evidence.release.report
    spent: Sequence[Check] = tuple(budget_checks(report)) if has_budget else ()
    data = evidence.place.file(DATA)
    found = checks_of(data, params, report)
    described = checker_of(report["guarantee"]).described
    columns = [] if described is None else [_undescribed(data, described(params), hidden=set())]
    repeated = verification_checks(report, [*found.made, *evidence.repeated], ())
    checks = (*evidence.checks, *columns, *spent, *found.made, *found.later, *repeated)
    return Validation(checks=checks, disclosure=None)


CHECKERS: Mapping[str, PromiseChecker] = {
    "k-anonymity": PromiseChecker(draft_checks=_no_checks, validate=validate_classes, described=None),
    "local-dp": PromiseChecker(
        draft_checks=_local_draft,
        validate=lambda evidence: _validate_noise(evidence, _local_files),
        described=_randomized_columns,
    ),
    "central-dp": PromiseChecker(
        draft_checks=_central_draft,
        validate=lambda evidence: _validate_noise(evidence, _central_files),
        described=_synthesized_columns,
    ),
    "approximate-dp": PromiseChecker(
        draft_checks=_approximate_draft,
        validate=lambda evidence: _validate_noise(evidence, _approximate_files),
        described=_synthesized_columns,
    ),
    "k-anonymous-dp": PromiseChecker(
        draft_checks=sampled_draft, validate=validate_sampled, described=described_columns
    ),
    "none": PromiseChecker(
        draft_checks=_unpromised_draft,
        validate=lambda evidence: _validate_noise(evidence, _unpromised_files, has_budget=False),
        described=_unpromised_columns,
    ),
}
"""By the kind in the report."""
