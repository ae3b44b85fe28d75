# SPDX-License-Identifier: Apache-2.0
"""The Data Package v2 descriptor of a release, for tools and catalogues.

The files of the data as the descriptor lists them: one file, or those of a folder one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

BYTES = "anonkit:bytes"
"""Key of a file's size. Tools that know `bytes` count it for tables of text alone, and refuse others."""
FILES = "anonkit:files"
"""Key of the data that lists every file of a folder, with its bytes and SHA-256."""


def listed_files(paths: str | list[str], facts: Mapping[str, tuple[int, str]]) -> dict[str, Any]:
    """Return the keys by which a descriptor states the bytes of a data file, or lists the files of a folder.

    Parameters
    ----------
    paths : str or list of str
        The data file, or the files of a folder of data in their order.
    facts : mapping
        Name of each file to its bytes and its SHA-256.
    """
    if isinstance(paths, str):
        return {BYTES: facts[paths][0]}
    files = ((path, *facts[path]) for path in paths)
    return {FILES: [{"path": path, "bytes": size, "hash": f"sha256:{digest}"} for path, size, digest in files]}


PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_SIDECARS = {
    "params": ("json", "application/json"),
    "report": ("json", "application/json"),
    "page": ("html", "text/html"),
}
_ENTRIES = {"croissant": ("json", "application/ld+json"), "registry": ("yaml", "application/yaml")}
"""Format and media type of the entries for catalogues, which a release may have."""
MEDIA_TYPES = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "sav": "application/x-spss-sav",
    "dta": "application/x-stata-dta",
    "arrow": "application/vnd.apache.arrow.file",
    "sqlite": "application/vnd.sqlite3",
}
"""Media type of the data in other forms than Parquet, by form."""
_COPIES = {form: (form, kind) for form, kind in MEDIA_TYPES.items()}
"""Format and media type of the copies of the data in other forms, which a release may have."""
_ENDS = {
    "low": ("Where the interval of {} begins, itself inside; empty where it is open.",) * 2,
    "high": (
        "Where the interval of {} ends, itself outside unless it is a single number; empty where it is open.",
        "Where the interval of {} ends, itself inside; empty where it is open.",
    ),
    "mean": ("Mean of {} over the rows of the group; empty where it is withheld.",) * 2,
}
"""Meaning of a column that holds an end or the mean of an interval: of other numbers, and of whole ones."""
_RESOURCE_PROFILE = "https://datapackage.org/profiles/2.0/dataresource.json"


def build_descriptor(
    *,
    name: str,
    schema: pa.Schema,
    files: Mapping[str, tuple[str, str]],
    data_paths: str | list[str],
    listed: Mapping[str, tuple[int, str]],
    report: Mapping[str, Any],
    labels: Mapping[str, Sequence[Mapping[str, Any]]],
    bounds: Mapping[str, Mapping[str, Any]],
    license_name: str | None,
) -> dict[str, Any]:
    """Return the descriptor as a document.

    Parameters
    ----------
    name : str
        Package name: lower case, letters, digits, `-`, `.`, `_`.
    schema : pyarrow.Schema
        Columns of the data file.
    files : mapping
        Role of a file ("data", "params", "report", "page", entries for catalogues, forms of copies) to its name and its
        SHA-256; that of a folder of data is the SHA-256 of the hashes of its files
        (`anonkit.bundle.data_files.digest`).
    data_paths : str or list of str
        The data file, or the files of a folder of data in their order.
    listed : mapping
        Name of every file, those of a folder of data one by one, to its bytes and SHA-256.
    report : mapping
        The privacy report, for the method and the guarantee.
    labels : mapping
        What each label of a recoded column means (`anonkit.k_anonymity.held_out_labels`), by column.
    bounds : mapping
        Names of the columns that hold the ends, and the mean, of an interval (`bounds` of the params), by column.
    license_name : str, optional
        Licence of the release as the policy names it.
    """
    by_name = {column["name"]: column for column in report["columns"]}
    guarantee = report["guarantee"]
    ends = {
        columns[end]: (name, end) for name, columns in bounds.items() for end in _ENDS if columns.get(end) is not None
    }
    document: dict[str, Any] = {
        "$schema": PROFILE,
        "name": name,
        "title": f"Release of {report['dataset']}" if report.get("dataset") else "anonkit release",
        "description": guarantee["statement"],
        "created": report["created"],
        "resources": [
            {
                "$schema": _RESOURCE_PROFILE,
                "name": "data",
                "type": "table",
                "path": data_paths,
                "format": "parquet",
                "mediatype": "application/vnd.apache.parquet",
                "hash": f"sha256:{files['data'][1]}",
                **listed_files(data_paths, listed),
                "schema": {"fields": [_field(field, by_name, labels, ends) for field in schema]},
            },
            *(
                _sidecar(role, files[role], listed[files[role][0]][0], *kind)
                for role, kind in {**_SIDECARS, **_ENTRIES, **_COPIES}.items()
                if role in files
            ),
        ],
        "anonkit": {
            "method": report["method"]["name"],
            "guarantee": {
                "kind": guarantee["kind"],
                "parameters": guarantee["parameters"],
                "basis": guarantee["basis"],
            },
            "randomness": report["randomness"],
        },
    }
    if license_name:
        document["licenses"] = [{"name": _license_id(license_name), "title": license_name}]
    return document


def _license_id(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in text)


def with_resources(document: Mapping[str, Any], added: Mapping[str, tuple[str, str, int]]) -> dict[str, Any]:
    """Return a descriptor that names more files, in the order in which `build_descriptor` names them.

    Parameters
    ----------
    document : mapping
        A descriptor.
    added : mapping
        Role of a file, that of an entry for catalogues or of a copy, to its name, its SHA-256 and its bytes.
    """
    kinds = {**_ENTRIES, **_COPIES}
    resources = {resource["name"]: resource for resource in document["resources"]}
    resources |= {
        role: _sidecar(role, (name, digest), size, *kinds[role]) for role, (name, digest, size) in added.items()
    }
    order = [*(role for role in resources if role not in kinds), *(role for role in kinds if role in resources)]
    return {**document, "resources": [resources[role] for role in order]}


def _sidecar(name: str, file: tuple[str, str], size: int, form: str, mediatype: str) -> dict[str, Any]:
    return {
        "$schema": _RESOURCE_PROFILE,
        "name": name,
        "type": "file",  # tools guess a type from names such as report.json otherwise
        "path": file[0],
        "format": form,
        "mediatype": mediatype,
        "hash": f"sha256:{file[1]}",
        BYTES: size,
    }


def _field(
    field: pa.Field,
    columns: Mapping[str, Mapping[str, Any]],
    labels: Mapping[str, Sequence[Mapping[str, Any]]],
    ends: Mapping[str, tuple[str, str]],
) -> dict[str, Any]:
    out: dict[str, Any] = {"name": field.name, "type": field_type(field.type)}
    name, end = ends.get(field.name, (field.name, None))
    column = columns.get(name)
    if end is not None:
        out["description"] = _ENDS[end][out["type"] == "integer"].format(name)
    if column is not None:
        out["anonkit:role"] = column["role"]
        out["anonkit:action"] = column["action"]
    if field.name in labels:
        out["anonkit:labels"] = labels[field.name]
    return out


def field_type(kind: pa.DataType) -> str:
    """Return the type a Data Package has for the cells of a column."""
    if pa.types.is_dictionary(kind):
        return field_type(kind.value_type)
    for test, name in (
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_floating, "number"),
        (pa.types.is_decimal, "number"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "datetime"),
        (pa.types.is_time, "time"),
        (lambda predicate: pa.types.is_string(predicate) or pa.types.is_large_string(predicate), "string"),
    ):
        if test(kind):
            return name
    return "any"
