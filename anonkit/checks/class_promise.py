# SPDX-License-Identifier: Apache-2.0
"""Validation of a k-anonymity promise: classes recounted and compared with promise, report and requirements.

A release's rules for its sensitive columns, compared with its promise: bounds, caps, and the list.

Surrogates, one number for all rows of a person, by which whole sets are counted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.bound_columns import bound_columns
from anonkit.bundle.data_files import read_schema
from anonkit.bundle.release_place import DATA, Place
from anonkit.bundle.stored_release import Release
from anonkit.checks.agreement import budget_checks, verification_checks
from anonkit.checks.anonymity import figure_checks, model_checks, recounted, role_checks
from anonkit.checks.counted_as import LEAST_CAP
from anonkit.checks.disclosure import Disclosure, measure
from anonkit.checks.identical_record_sets import fewest_alike
from anonkit.checks.kept_columns import disputed_columns, kept_column_checks, kept_columns
from anonkit.checks.mean_cells import centroid_checks, mean_checks
from anonkit.checks.people import published_people
from anonkit.checks.plain_bounds import Labelled, class_check
from anonkit.checks.population_validation import population_of_release, weight_checks
from anonkit.checks.recoded_labels import label_checks
from anonkit.checks.requirements import Requirements, Validation, refuse_unknown
from anonkit.checks.sameness import differing, named, none_of, same
from anonkit.checks.scored_rows import prediction_check
from anonkit.checks.unchanged_columns import CHECK as CLEAR
from anonkit.errors import UncheckedError
from anonkit.promises.anonymous_classes import ALL_ROWS, CAP, EXEMPT_ABOVE, WHOLE_SETS, KAnonymity
from anonkit.promises.guarantee import Check
from anonkit.promises.no_values import FOLDING, NO_VALUES

_NAMES = {"l": "l_diversity", "t": "t_closeness", "alpha": "alpha_k_anonymity"}
"""Requirements that a column may have on its own values, with the name in a report."""
_ALL = ("l_diversity", "entropy_l_diversity", "recursive_c_l_diversity", "t_closeness", "alpha_k_anonymity")
_SURROGATES, _SURROGATE = "surrogates", "surrogate"
"""Name of the check of them, and of their role and column."""
_HIGHEST = 0.9
"""Cap of a value that a share of `EXEMPT_ABOVE` has: a convention, as the promise states it."""


def refuse_earlier(params: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    """Refuse a release that does not say what counts as a sensitive value, as of version 0.1.

    Raises
    ------
    UncheckedError
        It has a sensitive column and no list.
    """
    if "no_values" not in params and report["guarantee"]["parameters"]["sensitive"]:
        raise UncheckedError(
            "the release has sensitive columns and does not say what counts as a value of them",
            "it is of version 0.1, which checks it; or release the table anew",
        )


def sensitive_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Check that params and promise require the same of each sensitive column, and cap those without requirements.

    The list of strings that are no value and the folding are the published ones.
    """
    promised = report["guarantee"]["parameters"]
    sensitive = {name: entry for name, entry in named(params["columns"]) if entry["sensitive"]}
    own = {name: {_NAMES[key]: entry[key] for key in _NAMES if key in entry} for name, entry in sensitive.items()}
    stated = promised.get("of_columns", {})
    expected = {name: requirements for name, requirements in own.items() if requirements}
    wrong = len(set(stated) ^ set(expected)) + sum(
        differing(stated[name], requirements) for name, requirements in expected.items() if name in stated
    )
    for_all = any(name in promised for name in _ALL) or promised.get("rows_known") == ALL_ROWS
    bare = [] if for_all else [name for name, requirements in own.items() if not requirements]
    cap = promised.get(CAP, {"columns": [], "exempt_above": EXEMPT_ABOVE})
    wrong += not same(cap, {"columns": bare, "exempt_above": EXEMPT_ABOVE}) or (CAP in promised) != bool(bare)
    wrong += sum(("caps" in entry) != (name in bare) for name, entry in sensitive.items())
    wrong += sum(not _is_list_of_caps(entry["caps"]) for entry in sensitive.values() if "caps" in entry)
    listed = (list(NO_VALUES), FOLDING) if sensitive else (None, None)
    wrong += not same([params.get("no_values"), params.get("folding")], list(listed))
    keys = {*_NAMES, "tolerance", "width", "caps", "missing_is_value"}
    wrong += sum(bool(keys & set(entry)) for _, entry in named(params["columns"]) if not entry["sensitive"])
    wrong += sum(not _is_number(entry.get("width")) for entry in sensitive.values())
    yield none_of("sensitive_columns", wrong)


def _is_list_of_caps(listed: Sequence[Any]) -> bool:
    """Return True if caps are pairs of a value and a possible share, each value once, numbers ascending."""
    values = [value for value, _ in listed]
    numbers = [value for value in values if _is_number(value)]
    others = [value for value in values if not _is_number(value)]
    return (
        all(value is None or isinstance(value, str) for value in others)
        and len(set(others)) == len(others)
        and all(one < another for one, another in pairwise(numbers))
        and all(cap is None or (_is_number(cap) and LEAST_CAP <= cap <= _HIGHEST) for _, cap in listed)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_checks(disclosure: Disclosure, sensitive: Sequence[str]) -> Iterator[Check]:
    """Check that widths and caps can follow by the rule from the table and the rows that were left out."""
    for name in sensitive:
        strange = int(disclosure.sensitive[name]["strange"])
        yield Check(name=f"sensitive_values:{name}", passed=strange == 0, observed=strange, required=0)


UNCOUNTABLE = ("joint_k", WHOLE_SETS)
"""Checks of a release that nobody can repeat from its files; whole sets are counted by surrogates where it has some."""


@dataclass(frozen=True, kw_only=True)
class PromiseEvidence:
    """The input of a promise's checker: the files of a release, and the checks that every release has passed before."""

    place: Place
    release: Release
    schema: pa.Schema
    """Of the data file, with labels where it shows bounds."""
    labels: Labelled
    """Its rows so."""
    requirements: Requirements
    checks: Sequence[Check]

    @property
    def repeated(self) -> list[Check]:
        """Those of the checks that were made when the release was written, too."""
        return [check for check in self.checks if check.name in ("identifiers_absent", CLEAR)]

    def kept_column_checks(self) -> tuple[Check, ...]:
        """Count again of which columns to be kept the rows show two parts."""
        params, report = self.release.params, self.release.report
        names, disputed = kept_columns(params, report), disputed_columns(params, report)
        return kept_column_checks(self.labels.data, self.schema.names, names, disputed)


def validate_classes(evidence: PromiseEvidence) -> Validation:
    """Recount the classes, and compare them with the promise, the report and the requirements."""
    params, report, data = evidence.release.params, evidence.release.report, evidence.labels.data
    schema, requested = evidence.schema, evidence.requirements
    promise, given = KAnonymity.from_dict(report["guarantee"]), requested.quasi_identifiers
    watched = tuple(dict.fromkeys((*promise.sensitive, *requested.sensitive)))
    refuse_unknown([*(given or ()), *requested.sensitive], schema.names)
    refuse_earlier(params, report)
    counted = [*role_checks(params, report, schema), *model_checks(params, report), *sensitive_checks(params, report)]
    counted += label_checks(data, schema.names, params, report)
    counted += centroid_checks(data, promise, params)
    counted += weight_checks(data, schema, promise, params, report)
    disclosure = recounted(data, schema, promise, given, watched, params, report["rows"])
    counted += value_checks(disclosure, promise.sensitive)
    links = list(linked_rows_check(schema, promise, params, report))
    counted += links
    linked = bool(links) and all(check.passed for check in links)
    if linked:
        disclosure, of_people = with_whole_sets(data, schema, disclosure, promise, params)
        counted += of_people
    uncountable = (
        *(name for name in UNCOUNTABLE if name != WHOLE_SETS or not linked),
        *(candidate.check for candidate in promise.candidates),
    )
    made = [check for check in promise.verify(disclosure) if check.name not in uncountable]
    of_kept_columns = evidence.kept_column_checks()
    promised = [*disclosure.checks, *made, *of_kept_columns]
    if given is None:
        counted += figure_checks(report, disclosure, promise, params)
        counted.append(
            prediction_check(data, schema, report, promise.quasi_identifiers, several_rows=_several_rows(disclosure))
        )
        counted += verification_checks(report, [*made, *of_kept_columns, *evidence.repeated], uncountable)
        if promise.candidates or promise.independent_rows or "candidates" in params:
            counted.append(_whose_rows(params, report, promise))
        if promise.rows_known == ALL_ROWS:
            counted.append(_whole_sets_stated(report, promise.k))
    counted += mean_checks(evidence.place.file(DATA), read_schema(evidence.place.file(DATA)), promise, params, report)
    if bound_columns(params):
        counted.append(class_check(evidence.place.file(DATA), evidence.labels, params, promise.quasi_identifiers))
    population = population_of_release(
        data, schema.names, promise, _of_own(disclosure, evidence, promise, given), params, report, requested
    )
    counted += population.checks
    more = [check for check in requested.checks(disclosure, watched, promise.unit) if check not in promised]
    checks = (*evidence.checks, *budget_checks(report), *promised, *counted, *more)
    return Validation(checks=checks, disclosure=disclosure, population=population.block, notes=population.notes)


def _several_rows(disclosure: Disclosure) -> bool:
    """Return True if a person has several rows, by the counts of people."""
    return disclosure.counts is not None and int(disclosure.counts.classes.sum()) != disclosure.rows


def _of_own(
    disclosure: Disclosure, evidence: PromiseEvidence, promise: KAnonymity, given: Sequence[str] | None
) -> Disclosure:
    """Return the recount by the release's own quasi-identifiers."""
    if given is None:
        return disclosure
    names = [name for name in promise.quasi_identifiers if name in evidence.schema.names]
    return measure(evidence.labels.data, names)


def _whose_rows(params: Mapping[str, Any], report: Mapping[str, Any], promise: KAnonymity) -> Check:
    """Check the statements of the files about candidates for the person: the owner alone can count them.

    Params and promise name the same columns, or say that rows are independent; the verification has counted as many
    different values of each as the promise states, and the params declare every such column, none of it released alone.
    """
    named = [list(candidate.columns) for candidate in promise.candidates]
    stated = {entry["name"]: entry for entry in report["verification"]["checks"]}
    entries = [stated.get(candidate.check, {}) for candidate in promise.candidates]
    roles = {column["name"]: column["role"] for column in params["columns"]}
    wrong = int(not same(params.get("candidates", []), named))
    wrong += params.get("independent_rows", False) is not promise.independent_rows
    wrong += bool(named) and (promise.unit is not None or promise.independent_rows)
    for candidate, entry in zip(promise.candidates, entries, strict=True):
        figures = (entry.get("observed"), entry.get("required"))
        wrong += not (same(figures[0], candidate.values) and same(figures[1], promise.k))
        wrong += not all(name in roles for name in candidate.columns)
        wrong += "identifier" not in {roles.get(name) for name in candidate.columns}
    return none_of("whose_rows", wrong)


def _whole_sets_stated(report: Mapping[str, Any], k: int) -> Check:
    """Check that the report states that whole sets of rows were counted, for this k: nobody else can count them."""
    entries = [entry for entry in report["verification"]["checks"] if entry["name"] == WHOLE_SETS]
    matching = [entry for entry in entries if same(entry["required"], k)]
    return Check(name="whole_sets_counted_by_owner", passed=len(matching) == 1, observed=len(matching), required=1)


def linked_rows_check(
    schema: pa.Schema, promise: KAnonymity, params: Mapping[str, Any], report: Mapping[str, Any]
) -> Iterator[Check]:
    """Check that promise, params, roles and data name one column of surrogates; nothing where none of them does."""
    roles = [
        name for block in (params, report) for name, entry in named(block["columns"]) if entry["role"] == _SURROGATE
    ]
    stated = params.get(_SURROGATE)
    if promise.surrogate is None and stated is None and not roles:
        return
    wrong = int(promise.surrogate != _SURROGATE or not same(stated, _SURROGATE) or roles != [_SURROGATE] * 2)
    wrong += promise.rows_known != ALL_ROWS or promise.unit is None
    wrong += _SURROGATE not in schema.names or not pa.types.is_integer(schema.field(_SURROGATE).type)
    yield none_of(_SURROGATES, int(wrong))


def with_whole_sets(
    data: Path, schema: pa.Schema, disclosure: Disclosure, promise: KAnonymity, params: Mapping[str, Any]
) -> tuple[Disclosure, Iterator[Check]]:
    """Return a recount with the fewest people of one whole set of rows, and a check of the people of every class.

    Parameters
    ----------
    data : path
        The data with labels; `schema` is its own. It has surrogates.
    """
    names = [name for name in promise.quasi_identifiers if name in schema.names]
    again = measure(data, names, unit=_SURROGATE)
    people = published_people(params).classes
    differ = again.counts is None or again.counts.classes.tolist() != people.tolist()
    found = replace(disclosure, alike=fewest_alike(data, names, _SURROGATE))
    return found, iter([none_of("people_of_surrogates", int(differ))])
