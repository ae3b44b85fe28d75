# SPDX-License-Identifier: Apache-2.0
"""Validation of k-anonymous releases: classes recounted and compared with the promise, the report and the params."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.checks.clear_parts import KnownBeside, same_width
from anonkit.checks.counted_as import ReadValues
from anonkit.checks.disclosure import Disclosure, measure, rarest_of_keys
from anonkit.checks.people import published_people
from anonkit.checks.sameness import counted, differing, named, none_of, repeated, same, same_figure
from anonkit.errors import UncheckedError, option
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

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
