# SPDX-License-Identifier: Apache-2.0
"""Validation of a k-anonymity promise: classes recounted and compared with promise, report and params.

Requirements that a caller adds are checked on the same recount.

The rules of a release for its sensitive columns (bounds, caps, and the list of strings that are no value) are compared
with its promise.

Surrogates, one number for all rows of a person, let whole sets of rows be counted again.
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
from anonkit.checks.clear_parts import KnownBeside, same_width
from anonkit.checks.counted_as import LEAST_CAP, ReadValues
from anonkit.checks.disclosure import Disclosure, fewest_alike, measure, rarest_of_keys
from anonkit.checks.document_agreement import budget_checks, verification_checks
from anonkit.checks.people import published_people
from anonkit.checks.population_validation import population_of_release, weight_checks
from anonkit.checks.recoded_labels import label_checks
from anonkit.checks.requirements import Requirements, Validation, refuse_unknown
from anonkit.checks.sameness import counted, differing, named, none_of, repeated, same, same_figure
from anonkit.checks.scored_rows import prediction_check
from anonkit.checks.shown_columns import CLEAR_CHECK as CLEAR
from anonkit.checks.shown_columns import disputed_columns, kept_column_checks, kept_columns
from anonkit.checks.shown_numbers import Labelled, centroid_checks, class_check, mean_checks
from anonkit.errors import UncheckedError, option
from anonkit.promises.anonymous_classes import ALL_ROWS, CAP, EXEMPT_ABOVE, WHOLE_SETS, KAnonymity
from anonkit.promises.guarantee import Check
from anonkit.promises.no_values import FOLDING, NO_VALUES

AT_RISK = 0.2
"""Records whose re-identification risk is above this count as at risk: a convention."""
_ROWS = {"in", "out", "suppressed", "suppressed_fraction", "suppression_limit", "dropped_missing"}
_SOMETIMES = ("dropped_without_unit", "beyond_rows_per_person")
_ALWAYS_RELEASED = ("sensitive", "insensitive", "target")
_NEVER_RELEASED = ("identifier", "unit")


def recounted(
    data: Path,
    schema: pa.Schema,
    promise: KAnonymity,
    quasi_identifiers: Sequence[str] | None,
    sensitive: Sequence[str],
    params: Mapping[str, Any],
    rows: Mapping[str, Any],
) -> Disclosure:
    """Recount the classes of a release.

    Parameters
    ----------
    quasi_identifiers : sequence of str, optional
        Columns that make up the classes; those of the promise by default.
    sensitive : sequence of str
        Columns whose diversity is measured.
    params : mapping
        Content of `params.json`: where the promise is about people, their number in every class.
    rows : mapping
        The `rows` block of the report.

    Raises
    ------
    ReleaseFormatError
        The promise is about people, and there is no such count.
    UncheckedError
        People are not counted for these columns.
    """
    people = None
    if promise.unit is not None:
        people = published_people(params)
        if quasi_identifiers is not None and set(quasi_identifiers) != set(promise.quasi_identifiers):
            raise UncheckedError(
                "the people of this release are counted for its own quasi-identifiers only",
                f"leave {option('quasi_identifiers', typed='qi')} out: rows could be counted "
                "for others, people could not",
            )
        if strangers := [name for name in sensitive if name not in promise.sensitive]:
            raise UncheckedError(
                f"who holds the values of column {strangers[0]!r} is not published by this release",
                "declare it sensitive when the table is released",
            )
        quasi_identifiers = None
    names = promise.quasi_identifiers if quasi_identifiers is None else quasi_identifiers
    recursive = promise.diversity.recursive
    insensitive = [name for name, entry in named(params["columns"]) if entry["role"] in ("insensitive", "weight")]
    found = measure(
        data,
        [name for name in names if name in schema.names],
        sensitive=[name for name in sensitive if name in schema.names],
        missing_is_value=promise.missing_is_value,
        people=people,
        recursive=(2, 3) if recursive is None else tuple(sorted({2, 3, recursive[1]})),
        target=params.get("target") if params.get("target") in schema.names else None,
        reading=ReadValues.of_release(params, rows) if promise.sensitive else ReadValues(),
        **looked_at(promise, schema.names, params.get("target"), insensitive),
    )
    return replace(found, keys=rarest_of_keys(data, (key.columns for key in promise.keys), schema.names))


def looked_at(
    promise: KAnonymity, released: Sequence[str], target: object, insensitive: Sequence[str]
) -> dict[str, Any]:
    """Return the values that are measured one by one, and those that may be known beside the quasi-identifiers.

    Returns
    -------
    dict
        `listed` and `beside` of `anonkit.checks.disclosure.measure`.
    """
    targets = [target] if isinstance(target, str) else []
    sensitive = [name for name in promise.sensitive if name in released]
    return {
        "listed": tuple(name for name in dict.fromkeys([*targets, *sensitive]) if name in released),
        "beside": KnownBeside(
            columns=tuple(name for name in (*targets, *insensitive) if name in released),
            sensitive=tuple(name for name in sensitive if name not in targets),
            target=targets[0] if targets and targets[0] in released else None,
            k=promise.k,
        ),
    }


def figure_checks(
    report: Mapping[str, Any], disclosure: Disclosure, promise: KAnonymity, params: Mapping[str, Any]
) -> Iterator[Check]:
    """Compare the report's figures with the recount over the promised quasi-identifiers."""
    again = replace(disclosure, sensitive={name: disclosure.sensitive[name] for name in promise.sensitive})
    stated = {key: value for key, value in report["disclosure_risk"].items() if key != "population"}
    observed = again.to_dict(AT_RISK)
    sizes = tuple((entry["size"], entry["classes"]) for entry in stated["class_sizes"])
    yield Check(
        name="class_sizes",
        passed=sizes == disclosure.sizes,
        observed=len(disclosure.sizes),
        required=len(sizes),
    )
    wrong_width = not same_width(params, disclosure.clear)
    yield none_of("disclosure_risk", differing(stated, observed, figures=True) + wrong_width)
    means = {
        "discernibility": sum(size * size * classes for size, classes in disclosure.class_sizes),
        "average_equivalence_class_size": disclosure.rows / disclosure.classes if disclosure.classes else None,
    }
    yield none_of("utility", sum(not same_figure(report["utility"][name], value) for name, value in means.items()))


def model_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Check that params, report and promise ask the same of the classes, and allow the same share to be left out."""
    model, required = params["model"], report["guarantee"]["parameters"]
    recursive = required.get("recursive_c_l_diversity")
    promised = {
        "k": required["k"],
        "l": required.get("l_diversity"),
        "entropy_l": required.get("entropy_l_diversity"),
        "t": required.get("t_closeness"),
        "alpha": required.get("alpha_k_anonymity"),
        "recursive": recursive,
    }
    stated = {**model, "recursive": None if model["recursive"] is None else _pair(model["recursive"])}
    limit = params["max_suppression"]
    parameters = {"max_suppression": limit, **report["method"]["parameters"]}
    # a method from elsewhere may fix what others have a parameter for; what it has must be as required
    given = {name: value for name, value in model.items() if name in parameters}
    wrong = differing(stated, promised) + sum(not same(parameters[name], value) for name, value in given.items())
    wrong += not same(params.get("keys", []), required.get("keys", []))
    wrong += not same(params.get("households", False), required.get("households", False))
    wrong += "households" in required and (required.get("rows_known") != "all" or required.get("unit") is None)
    yield none_of("model", wrong + (not same(parameters["max_suppression"], limit)))
    must_be_limited = (
        counted(report["rows"].get("beyond_rows_per_person", 0)) > 0 or required.get("rows_known") == "all"
    )
    stated_rows = params.get("rows_of_people", "all")
    wrong_draw = stated_rows != "limited" if must_be_limited else stated_rows not in ("limited", "all")
    yield none_of("suppression", _wrong_rows(report["rows"], limit) + wrong_draw)


def _pair(text: str) -> list[float]:
    c, l = text.split(",")  # noqa: E741 - the field's own letter
    return [float(c), int(l)]


def _wrong_rows(rows: Mapping[str, Any], limit: Any) -> int:
    """Count what the counts of rows contradict: each other, or the share that may be left out."""
    dropped = counted(rows["dropped_missing"]) + sum(counted(rows.get(name, 0)) for name in _SOMETIMES)
    usable = max(counted(rows["in"]) - dropped, 1)
    share = counted(rows["suppressed"]) / usable
    wrong = len((set(rows) - set(_SOMETIMES)) ^ _ROWS) + (not same_figure(share, rows["suppressed_fraction"]))
    return wrong + (not same(rows["suppression_limit"], limit)) + bool(share > limit + 1e-9)


def role_checks(params: Mapping[str, Any], report: Mapping[str, Any], schema: pa.Schema) -> Iterator[Check]:
    """Check that promise, params, report, recoding and data treat every column in the same way."""
    promised, declared = report["guarantee"]["parameters"], dict(named(params["columns"]))
    stated, recoded = dict(named(report["columns"])), _recoded(params["recoding"])
    wrong = sum(
        repeated([entry["name"] for entry in block])
        for block in (params["columns"], report["columns"], [{"name": name} for name, _ in recoded])
    )
    wrong += len(declared.keys() ^ stated.keys()) + sum(
        differing(
            {key: entry[key] for key in ("role", "sensitive")},
            {key: stated[name][key] for key in ("role", "sensitive")},
        )
        for name, entry in declared.items()
        if name in stated
    )
    roles = {name: entry["role"] for name, entry in declared.items()}
    lists = {
        "quasi_identifiers": [name for name, role in roles.items() if role == "quasi_identifier"],
        "sensitive": [name for name, entry in declared.items() if entry["sensitive"]],
        "missing_is_value": [name for name, entry in declared.items() if entry.get("missing_is_value", False) is True],
    }
    flags = [entry.get("missing_is_value") for entry in declared.values() if entry["sensitive"]]
    wrong += sum(not isinstance(flag, bool) for flag in flags)
    for key, names in lists.items():
        wrong += len(set(names) ^ set(promised[key])) + repeated(list(promised[key]))
    wrong += sum(not entry["sensitive"] for entry in declared.values() if entry["role"] == "sensitive")
    for key in ("unit", "target"):
        holders = [name for name, role in roles.items() if role == key]
        wrong += holders != ([] if params[key] is None else [params[key]])
    wrong += not same(promised["unit"], params["unit"])
    wrong += not same([name for name, entry in declared.items() if "relative" in entry], promised.get("relative", []))
    wrong += any(entry.get("relative", True) is not True for entry in declared.values())
    yield none_of("roles", wrong)
    shown = _shown(params["recoding"], schema)
    wrong_texts = _wrong_details(stated, shown, is_local=params["recoding"]["kind"] == "local")
    wrong_texts += _wrong_codings(stated, declared)
    yield none_of("actions", _wrong_actions(stated, shown, roles) + wrong_texts)
    yield none_of("types", _wrong_types(declared, stated, schema))


def _shown(recoding: Mapping[str, Any], schema: pa.Schema) -> dict[str, str]:
    """Return the treatment of each recoded column; axes of a local recoding that show one value are left out."""
    treated = dict(_recoded(recoding))
    if recoding["kind"] == "local":
        treated = {name: action if name in schema.names else "dropped" for name, action in treated.items()}
    return treated


def _recoded(recoding: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the treatment of each column that the recoding names."""
    if recoding["kind"] == "local":
        return [(name, "generalized") for name, _ in named(recoding["axes"])]
    done = {"kept": "kept", "means": "averaged"}
    return [(name, done.get(column["kind"], "generalized")) for name, column in named(recoding["columns"])]


def _wrong_actions(
    stated: Mapping[str, Mapping[str, Any]], recoded: Mapping[str, str], roles: Mapping[str, str]
) -> int:
    expected = {}
    for name, role in roles.items():
        if role in _NEVER_RELEASED:
            expected[name] = "dropped"
        elif role in _ALWAYS_RELEASED:
            expected[name] = "kept"
        elif role == "weight":
            expected[name] = "averaged"
        elif role == "surrogate":
            expected[name] = "numbered"
        else:
            expected[name] = recoded.get(name, "dropped")
    wrong = sum(roles.get(name) != "quasi_identifier" for name in recoded)
    for name, entry in stated.items():
        wrong += name not in expected or entry["action"] != expected[name]
    return wrong


def _wrong_details(stated: Mapping[str, Mapping[str, Any]], recoded: Mapping[str, str], *, is_local: bool) -> int:
    """Count the columns whose detail in the report differs from the recoding; of others the report states none."""
    words = {"kept": "full", "averaged": "means", "generalized": "boxes" if is_local else "generalized"}
    expected = {name: words[action] for name, action in recoded.items() if action in words}
    return sum(not same(entry.get("detail", ""), expected.get(name, "")) for name, entry in stated.items())


def _wrong_codings(stated: Mapping[str, Mapping[str, Any]], declared: Mapping[str, Mapping[str, Any]]) -> int:
    """Count the columns whose top and bottom coding in the report differs from that of their bounds."""
    wrong = 0
    for name, entry in stated.items():
        domain = declared.get(name, {}).get("domain", {})
        expected = None
        if entry["action"] != "dropped" and "bounds" in domain and domain.get("outside", "clamp") == "clamp":
            low, high = (f"{bound:.15g}" for bound in domain["bounds"])
            expected = f"top and bottom coded: below {low} is {low}, above {high} is {high}"
        wrong += not same(entry.get("coding"), expected)
    return wrong


def _wrong_types(
    declared: Mapping[str, Mapping[str, Any]], stated: Mapping[str, Mapping[str, Any]], schema: pa.Schema
) -> int:
    """Count the columns that are of another type than they were read as, or than labels have."""
    wrong = 0
    for field in schema:
        entry = stated.get(field.name, {})
        if entry.get("action") == "generalized":
            wrong += field.type != pa.string()
        elif entry.get("action") == "averaged":
            wrong += field.type != pa.float64()
        elif field.name in declared:
            wrong += str(field.type) != declared[field.name]["type"]
    return wrong


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
