# SPDX-License-Identifier: Apache-2.0
"""Agreement of a release's documents: params, report, manifest, descriptor, page and metadata of the data.

A promise is made of its parameters: its sentences are made again from those and compared. What cannot be made again
(promise, method, randomness, conditions, verification) is in two files at least, and has to be the same in all of them.

Descriptor, page and metadata repeat the report. The labels that the descriptor explains each mean what `params.json`
makes them from: bounds and values are worked out here once more, from the parts of each column in the recoding.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit import __version__
from anonkit.bundle.bound_columns import BoundColumn, bound_columns
from anonkit.bundle.data_files import data_paths, joint_digest, parts_of, sha256
from anonkit.bundle.json_documents import read_capped
from anonkit.bundle.release_place import DATA, EMITTED, METADATA_KEY, PAGE, PARAMS, REPORT, Place, package_name
from anonkit.checks.file_integrity import is_recoded
from anonkit.checks.recoded_labels import AxisParts, walk
from anonkit.checks.sameness import counted, differing, named, none_of, repeated, same
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check
from anonkit.promises.promise_kinds import read_promise
from anonkit.report.descriptors import BYTES, FILES
from anonkit.report.page import render_page

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


KEY = "anonkit:labels"
_EVERYTHING = "*"
_MOST_LISTED = 20_000
_EXACT = 2**53
"""Integers up to it are the same in every reader of JSON."""


def label_lists(params: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the explanation of the labels of each column, as the descriptor has it.

    Raises
    ------
    LookupError, ValueError, TypeError
        The recoding is none.
    """
    if not is_recoded(params):
        return {}
    places = {name for name, column in named(params["columns"]) if "place" in column}
    found = {}
    for name, parts, labels in _columns(params["recoding"]):
        listed = [] if name in places else _listed(parts, labels)
        if name not in places and sum(1 + len(one.get("values", ())) for one in listed) <= _MOST_LISTED:
            found[name] = listed
    return found


def wrong_lists(fields: Sequence[Mapping[str, Any]], params: Mapping[str, Any]) -> int:
    """Count the fields of a descriptor whose labels are explained otherwise than the recoding says.

    None where no field has an explanation: earlier versions wrote none.
    """
    if not any(KEY in field for field in fields):
        return 0
    lists = label_lists(params)
    return sum(not same(field.get(KEY), lists.get(field["name"])) for field in fields)


_PartsOfLabels = Mapping[str, frozenset[int]]


def _columns(recoding: Mapping[str, Any]) -> Iterator[tuple[str, AxisParts, _PartsOfLabels]]:
    """Yield every column with labels, its parts, and the parts of each label."""
    if recoding["kind"] == "local":
        axes = [AxisParts.of(axis) for axis in recoding["axes"]]
        labels: list[dict[str, frozenset[int]]] = [{} for _ in axes]
        for at, parts in walk(recoding, axes):
            label = axes[at].label(parts)
            if label is not None:
                labels[at][label] = labels[at].get(label, frozenset()) | parts
        yield from zip((name for name, _ in named(recoding["axes"])), axes, labels, strict=True)
        return
    for name, column in named(recoding["columns"]):
        if "labels" in column:
            yield name, AxisParts.of(column), _of_levels([column["labels"], *column.get("coarser", ())])


def _of_levels(levels: Iterable[Sequence[str | None]]) -> _PartsOfLabels:
    """Return the parts of each label: those of the finest level that has it."""
    found: dict[str, frozenset[int]] = {}
    for labels in levels:
        for label in dict.fromkeys(labels):
            if label is not None and label not in found:
                found[label] = frozenset(part for part, one in enumerate(labels) if one == label)
    return found


def _listed(parts: AxisParts, labels: _PartsOfLabels) -> list[dict[str, Any]]:
    groups = dict(parts.groups or ())
    covered = {label: sorted(groups.get(label, members)) for label, members in labels.items()}
    listed = []
    for label in sorted(covered, key=lambda one: (one == _EVERYTHING, covered[one], one)):
        members = covered[label]
        if parts.intervals:
            listed.append({"label": label, **_bounds(parts, members if label != _EVERYTHING else [])})
        elif label == _EVERYTHING:
            listed.append({"label": label})
        else:
            listed.append({"label": label, "values": [parts.names[part] for part in members]})
    return listed


def _bounds(parts: AxisParts, members: Sequence[int]) -> dict[str, Any]:
    within = [part for part in members if part <= len(parts.names)]
    low = within[0] - 1 if within else -1
    high = within[-1] if within else len(parts.names)
    return {
        "low": None if low < 0 else _plain(parts.names[low]),
        "high": None if high >= len(parts.names) else _plain(parts.names[high]),
    }


def _plain(text: str) -> float | str:
    """Return a number where JSON has it as it is written, else the string."""
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return text
    number = float(text) if set(text) & set(".eE") else int(text)
    return number if str(number) == text and abs(exact) <= _EXACT else text


_MANIFEST = {"format", "method", "randomness", "sidecars", "conditions", "license"}
_ARROW = b"ARROW:schema"
"""The types of the columns, which pyarrow keeps beside the manifest."""
_TOP = {"$schema", "name", "title", "description", "created", "resources", "anonkit", "licenses"}
_DATA = {"$schema", "name", "type", "path", "format", "mediatype", "hash", "schema", BYTES, FILES}
"""Keys of the data; releases of earlier versions lack the last two, of which a release has one."""
_LONGEST_NAME = 255
"""Letters of a file's name."""
_NAMELESS = "NAME"
"""Word of a page in the place of the name of the files, where it was given none."""
_PROFILE = "https://datapackage.org/profiles/2.0/"
_FORMS = {
    "params": (PARAMS, "json", "application/json"),
    "report": (REPORT, "json", "application/json"),
    "page": (PAGE, "html", "text/html"),
}
_ENTRIES = {
    "croissant": (EMITTED["croissant"], "json", "application/ld+json"),
    "registry": (EMITTED["registry"], "yaml", "application/yaml"),
}
"""Files that a release may have."""
_COPIES = {
    "csv": (".csv", "csv", "text/csv"),
    "tsv": (".tsv", "tsv", "text/tab-separated-values"),
    "xlsx": (".xlsx", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "sav": (".sav", "sav", "application/x-spss-sav"),
    "dta": (".dta", "dta", "application/x-stata-dta"),
    "arrow": (".arrow", "arrow", "application/vnd.apache.arrow.file"),
    "sqlite": (".sqlite", "sqlite", "application/vnd.sqlite3"),
}
"""Copies of the data, which are a release's where the descriptor names them; their cells are compared elsewhere."""


def description_checks(
    place: Place,
    schema: pa.Schema,
    descriptor: Mapping[str, Any],
    params: Mapping[str, Any],
    report: Mapping[str, Any],
    manifest: Mapping[str, Any],
) -> Iterator[Check]:
    """Check the descriptor, the page and the metadata of the data.

    Parameters
    ----------
    schema : pyarrow.Schema
        That of the data file, with its metadata.
    manifest : mapping
        What anonkit wrote into that metadata.
    """
    yield none_of("descriptor", _wrong_in(descriptor, place, schema, params, report, manifest))
    yield none_of("metadata", len(set(manifest) - _MANIFEST) + _stray_metadata(schema))
    yield none_of("page", not _is_page_of(place, report))


def _stray_metadata(schema: pa.Schema) -> int:
    """Count the entries of the file's and the columns' metadata that anonkit does not write."""
    stray = len(set(schema.metadata or {}) - {METADATA_KEY.encode(), _ARROW})
    return stray + sum(len(set(field.metadata or {}) - {b"PARQUET:field_id"}) for field in schema)


def _is_page_of(place: Place, report: Mapping[str, Any]) -> bool:
    """Return True if the page shows this report.

    The version that wrote a page makes the same page again, byte for byte. Of the page of another version only the
    sentences of the promise are looked at, and that nothing in it can run.
    """
    try:
        page = read_capped(place.file(PAGE)).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    if report["anonkit_version"] == __version__:
        return any(page == render_page(report, name=name) for name in _names_on(page))
    guarantee = report["guarantee"]
    statements = [guarantee["statement"], guarantee["formal"], *guarantee["assumptions"], *guarantee["not_protected"]]
    text = " ".join(html.unescape(page).split())
    return "<script" not in page.lower() and all(" ".join(statement.split()) in text for statement in statements)


def _names_on(page: str) -> list[str | None]:
    """Return the name of the files that a page may have been given: files renamed together keep their page.

    A page of files without a name has `NAME` there; none at all where the string can be the name of no file.
    """
    name = html.unescape(page.partition("<dt><code>")[2].partition(f"{DATA}</code></dt>")[0])
    given: list[str | None] = [name] if name != _NAMELESS else [None, name]
    return given if 0 < len(name) <= _LONGEST_NAME and "/" not in name else []


def _wrong_in(
    descriptor: Mapping[str, Any],
    place: Place,
    schema: pa.Schema,
    params: Mapping[str, Any],
    report: Mapping[str, Any],
    manifest: Mapping[str, Any],
) -> int:
    """Count what the descriptor states otherwise than the report, the manifest and the data."""
    guarantee, dataset, license_name = report["guarantee"], report["dataset"], manifest.get("license")
    expected = {
        "$schema": f"{_PROFILE}datapackage.json",
        "name": package_name(place.stem),
        "title": f"Release of {dataset}" if dataset else "anonkit release",
        "description": guarantee["statement"],
        "created": report["created"],
        "anonkit": {
            "method": report["method"]["name"],
            "guarantee": {key: guarantee[key] for key in ("kind", "parameters", "basis")},
            "randomness": report["randomness"],
        },
    }
    wrong = sum(not same(descriptor.get(key), value) for key, value in expected.items()) + len(set(descriptor) - _TOP)
    licenses = [{"name": _as_name(license_name), "title": license_name}] if license_name else []
    wrong += not same(descriptor.get("licenses", []), licenses)
    resources = descriptor["resources"]
    forms = {**_FORMS, **{role: form for role, form in _ENTRIES.items() if place.file(form[0]).exists()}}
    names = [resource["name"] for resource in resources]
    forms |= {role: form for role, form in _COPIES.items() if role in names}
    wrong += names != ["data", *forms]
    for resource in resources:
        if resource["name"] in forms:
            suffix, form, kind = forms[resource["name"]]
            stated = {
                "$schema": f"{_PROFILE}dataresource.json", "name": resource["name"], "type": "file",
                "path": place.name(suffix), "format": form, "mediatype": kind, "hash": resource["hash"],
            }  # fmt: skip
            if BYTES in resource:
                stated[BYTES] = _size(place.file(suffix), resource)
            wrong += differing(resource, stated)
        elif resource["name"] == "data":
            wrong += _wrong_in_data(resource, place, schema, report, bound_columns(params))
            wrong += wrong_lists(resource["schema"]["fields"], params)
    return wrong


def _as_name(text: str) -> str:
    """Return a string as the name of a licence: letters, digits, `-`, `.` and `_`, anything else a dash."""
    return "".join(letter if letter in "-._" or letter.isalnum() else "-" for letter in text)


def _wrong_in_data(
    resource: Mapping[str, Any],
    place: Place,
    schema: pa.Schema,
    report: Mapping[str, Any],
    bounds: Sequence[BoundColumn],
) -> int:
    columns = {column["name"]: column for column in report["columns"]}
    listed = [{key: one[key] for key in one if key != KEY} for one in resource["schema"]["fields"]]
    meanings = _meanings(bounds, schema) if any("description" in one for one in listed) else {}
    fields = []
    for field in schema:
        stated: dict[str, Any] = {"name": field.name, "type": _type_of(field.type)}
        name, meaning = meanings.get(field.name, (field.name, None))
        if name in columns:
            stated |= {f"anonkit:{key}": columns[name][key] for key in ("role", "action")}
        fields.append(stated if meaning is None else {**stated, "description": meaning})
    expected = {
        "$schema": f"{_PROFILE}dataresource.json",
        "type": "table",
        "path": data_paths(place.file(DATA)),
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
    }
    wrong = sum(not same(resource.get(key), value) for key, value in expected.items()) + len(set(resource) - _DATA)
    wrong += not same({**resource["schema"], "fields": listed}, {"fields": fields})
    return wrong + _wrong_in_files(resource, place.file(DATA))


def _meanings(bounds: Sequence[BoundColumn], schema: pa.Schema) -> dict[str, tuple[str, str]]:
    """Return the column and the description of each column of an interval; earlier versions described none."""
    found = {}
    for column in bounds:
        whole = pa.types.is_integer(schema.field(column.high).type)
        end = "itself inside" if whole else "itself outside unless it is a single number"
        found[column.low] = f"Where the interval of {column.name} begins, itself inside; empty where it is open."
        found[column.high] = f"Where the interval of {column.name} ends, {end}; empty where it is open."
        if column.mean is not None:
            found[column.mean] = f"Mean of {column.name} over the rows of the group; empty where it is withheld."
    names = {shown: column.name for column in bounds for shown in column.names}
    return {shown: (names[shown], meaning) for shown, meaning in found.items()}


def _wrong_in_files(resource: Mapping[str, Any], data: Path) -> int:
    """Count what is stated otherwise than the files are: their order, their bytes, their hashes.

    The hash of all of them was compared with the files; it is that of their hashes, so that these are compared by it.
    """
    if not data.is_dir():
        return (BYTES in resource and not same(resource[BYTES], _size(data, resource))) + (FILES in resource)
    if FILES not in resource:
        return int(BYTES in resource)
    parts = parts_of(data)
    stated = resource[FILES]
    names = [part.relative_to(data.parent).as_posix() for part in parts]
    expected = [
        {"path": name, "bytes": part.stat().st_size, "hash": entry.get("hash")}
        for name, part, entry in zip(names, parts, stated, strict=False)
    ]
    hashes = {
        name.partition("/")[2]: str(entry.get("hash")).removeprefix("sha256:")
        for name, entry in zip(names, stated, strict=False)
    }
    together = f"sha256:{joint_digest(hashes)}"
    return (not same(stated, expected)) + (not same(together, resource["hash"])) + (BYTES in resource)


def _size(path: Path, resource: Mapping[str, Any]) -> object:
    """Return the bytes of a file that has the stated hash; of another one the hash alone."""
    if not path.exists() or f"sha256:{sha256(path)}" != resource["hash"]:
        return resource[BYTES]
    return path.stat().st_size


def _type_of(kind: pa.DataType) -> str:
    """Return the type a Data Package has for the cells of a column."""
    if pa.types.is_dictionary(kind):
        return _type_of(kind.value_type)
    for test, name in (
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (lambda test_kind: pa.types.is_floating(test_kind) or pa.types.is_decimal(test_kind), "number"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "datetime"),
        (pa.types.is_time, "time"),
        (lambda test_kind: pa.types.is_string(test_kind) or pa.types.is_large_string(test_kind), "string"),
    ):
        if test(kind):
            return name
    return "any"


def unreadable(error: Exception) -> ReleaseFormatError:
    """Return the error for a document that lacks a key or has one of the wrong kind."""
    return ReleaseFormatError(
        f"the files of the release are not as anonkit writes them ({type(error).__name__})",
        "report.json, params.json or the descriptor lacks a key, or has one of the wrong kind",
    )
