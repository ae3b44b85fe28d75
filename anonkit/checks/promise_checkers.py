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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonkit.bundle.data_files import read_schema
from anonkit.bundle.release_names import DATA
from anonkit.checks.agreement import budget_checks, verification_checks
from anonkit.checks.class_promise import PromiseEvidence, validate_classes
from anonkit.checks.drawn_classes import described_columns, drawn_draft, validate_drawn
from anonkit.checks.file_checks import FileChecks
from anonkit.checks.known_keys import OWN
from anonkit.checks.requirements import Validation
from anonkit.checks.sameness import none_of
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.promises.guarantee import Check
from anonkit.promises.promise_kinds import of_kind

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
    """Return who checks the promise of a report.

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
    if params.get("method") not in OWN:
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
    from anonkit.checks.approximate_histogram import approximate_checks

    return approximate_checks(data, params, report["guarantee"])


def _approximate_files(data: Path, params: Facts, report: Facts) -> FileChecks:
    if _has_account(params):
        return _central_files(data, params, report)
    from anonkit.checks.approximate_histogram import approximate_report_checks

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
    if evidence.asked.anything:
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
    "k-anonymous-dp": PromiseChecker(draft_checks=drawn_draft, validate=validate_drawn, described=described_columns),
    "none": PromiseChecker(
        draft_checks=_unpromised_draft,
        validate=lambda evidence: _validate_noise(evidence, _unpromised_files, has_budget=False),
        described=_unpromised_columns,
    ),
}
"""By the kind in the report."""
