# SPDX-License-Identifier: Apache-2.0
"""The Croissant 1.1 description of a release, for catalogues and loaders of machine-learning data.

It repeats only facts of the other public files. The owner of the data adds what no file of a release knows: `url`
and `creator`, and `license` where the policy names none.

References
----------
MLCommons (2026). *Croissant Format Specification*, version 1.1.
https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from anonkit.report.descriptor import field_type

CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
_PREFIXED = (
    *(
        "annotation",
        "arrayShape",
        "citeAs",
        "column",
        "containedIn",
        "equivalentProperty",
        "excludes",
        "extract",
        "field",
    ),
    *(
        "fileProperty",
        "fileObject",
        "fileSet",
        "format",
        "includes",
        "isArray",
        "isLiveDataset",
        "jsonPath",
        "key",
        "md5",
    ),
    *("parentField", "recordSet", "references", "regex", "readLines", "sdVersion", "separator", "source", "subField"),
    *("transform", "unArchive", "value"),
)
"""Terms that the specification's own context (appendix 1) puts under `cr:`."""
_OF_THE_LOADER = ("path", "repeated", "replace", "samplingRate")
"""Terms of 1.0 that the reference loader (mlcroissant) still looks for."""
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in (*_PREFIXED, *_OF_THE_LOADER)},
}
_TYPES = {
    "boolean": "sc:Boolean",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
    "time": "sc:Time",
}
"""Data types of cells by their Data Package name; all others are strings."""
PARQUET, JSON, HTML = "application/x-parquet", "application/json", "text/html"
_ROWS, _PARTS = "rows", "parts"


def build_croissant(
    *,
    name: str,
    schema: pa.Schema,
    data: Mapping[str, str],
    folder: str | None,
    sidecars: Mapping[str, tuple[str, str]],
    report: Mapping[str, Any],
    license_name: str | None,
) -> dict[str, Any]:
    """Return the description as a document.

    Parameters
    ----------
    name : str
        Package name of the release.
    schema : pyarrow.Schema
        Columns of the data.
    data : mapping
        Name of each data file, seen from the folder of the release, to its SHA-256.
    folder : str, optional
        Name of the folder of data; None where the data are one file.
    sidecars : mapping
        Name of each further file to its SHA-256 and its media type.
    report : mapping
        The privacy report.
    license_name : str, optional
        Licence of the release as the policy names it.
    """
    guarantee, method = report["guarantee"], report["method"]
    files = [*((file, digest, PARQUET) for file, digest in data.items())]
    files += [(file, digest, kind) for file, (digest, kind) in sidecars.items()]
    document: dict[str, Any] = {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": name,
        "description": guarantee["statement"],
        "datePublished": report["created"],
        "keywords": [guarantee["kind"], method["name"]],
        **({"license": license_name} if license_name else {}),
        "distribution": [*(_file(*file) for file in files), *([] if folder is None else [_parts(folder)])],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": _ROWS,
                "name": _ROWS,
                "description": "The rows of the release.",
                "field": _fields(schema, report["columns"], next(iter(data)) if folder is None else None),
            }
        ],
    }
    return document


def _file(name: str, digest: str, kind: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": quote(name),
        "name": name,
        "contentUrl": quote(name),
        "encodingFormat": kind,
        "sha256": digest,
    }


def _parts(folder: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": _PARTS,
        "name": _PARTS,
        "encodingFormat": PARQUET,
        "includes": f"{folder}/*.parquet",
    }


def _fields(schema: pa.Schema, columns: Sequence[Mapping[str, Any]], file: str | None) -> list[dict[str, Any]]:
    by_name = {column["name"]: column for column in columns}
    where = {"fileSet": {"@id": _PARTS}} if file is None else {"fileObject": {"@id": quote(file)}}
    return [
        {
            "@type": "cr:Field",
            "@id": f"{_ROWS}/{quote(field.name, safe='')}",
            "name": field.name,
            "description": _words(by_name.get(field.name, {})),
            "dataType": _TYPES.get(field_type(field.type), "sc:Text"),
            "source": {**where, "extract": {"column": field.name}},
        }
        for field in schema
    ]


def _words(column: Mapping[str, Any]) -> str:
    return f"{column['role']}, {column['action']}" if column else "as released"
