# SPDX-License-Identifier: Apache-2.0
"""Descriptors of a release for tools, catalogues and registries, each made of its public files alone.

* The Data Package v2 descriptor. It lists the files of the data: one file, or those of a folder one by one.
* The Croissant 1.1 description, for catalogues and loaders of machine-learning data. It repeats only facts of the other
  public files. The owner of the data adds what no file of a release knows: `url` and `creator`, and `license` where
  the policy names none.
* A draft entry for the OpenDP deployments registry: what a release states of its differential privacy, as YAML. The
  fields are those of the registry's own schema. What no file of a release knows is left empty and marked for the owner
  to fill in: the curator, the use, the region, the authors of the entry. Nothing is guessed.

References
----------
MLCommons (2026). *Croissant Format Specification*, version 1.1.
https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html

OpenDP, *Privacy Deployments Registry*, `schemas/deployments-schema.yaml`.
https://github.com/opendp/deployments-registry-data
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from anonkit.promises.guarantee import Guarantee

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


EMPTY = ""
"""Value for the owner to fill in."""
_FILL_IN = "  # to fill in"
_HOLDER = (
    "The owner holds the rows, and runs the method on them; everybody else sees the files of the release alone, and is "
    "trusted with nothing."
)
_MECHANISMS = (
    "{summary}. Published as: {paper}. Implemented in anonkit {version}, whose random words come from AES in counter "
    "mode under a key of the release that is never written. Randomness of this release: {randomness}."
)


def has_entry(promise: Guarantee) -> bool:
    """Return True if a promise is one of differential privacy with a bound, which the registry is for."""
    epsilon = promise.to_dict()["parameters"].get("epsilon")
    return isinstance(epsilon, int | float) and math.isfinite(epsilon)


def build_registry_entry(*, name: str, report: Mapping[str, Any]) -> str:
    """Return the entry as YAML.

    Parameters
    ----------
    name : str
        Package name of the release.
    report : mapping
        The privacy report of a release with an epsilon (`has_entry`).
    """
    guarantee, method, ledger = report["guarantee"], report["method"], report.get("ledger") or {}
    parameters, many = guarantee["parameters"], ledger.get("release_of_dataset", 1) > 1
    delta = parameters.get("delta") or 0
    released = [column for column in report["columns"] if column["action"] != "dropped"]
    synthetic = all(column["action"] == "synthesized" for column in released)
    names = ", ".join(column["name"] for column in released)
    entry = {
        "url_slug": name,
        "deployment": {
            "basic": {
                "name": f"Release of {report['dataset']}" if report["dataset"] else EMPTY,
                "data_curators": [{"data_curator_name": EMPTY, "data_curator_type": EMPTY}],
                "description": guarantee["statement"],
                "intended_use": EMPTY,
                "data_product_type": "Synthetic data" if synthetic else "Dataset",
                "data_product_region": EMPTY,
                "publication_date": report["created"][:10],
            },
            "dp_variant": {
                "variant_name": "Approximate DP" if delta else "Pure DP",
                "data_domain": f"Tables with the columns {names}, in their declared domains.",
                "unprotected_quantities": " ".join([*guarantee["not_protected"], *guarantee["assumptions"]]),
            },
            "privacy_loss": {
                "privacy_unit": guarantee["unit"],
                "privacy_unit_details": guarantee["adjacency"],
                "privacy_parameters": {
                    "epsilon": float(parameters["epsilon"]),
                    **({"delta": float(delta)} if delta else {}),
                },
                "privacy_parameters_details": guarantee["formal"],
            },
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": _HOLDER,
                "release_type": "Many releases" if many else "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "implementation": {
                "mechanisms": _MECHANISMS.format(
                    summary=method["summary"],
                    paper=method["paper"],
                    version=report["anonkit_version"],
                    randomness=report["randomness"],
                ),
            },
            "administrative": {"status": "Draft", "registry_authors": [EMPTY], "tier": 2},
        },
    }
    return "\n".join(_lines(entry)) + "\n"


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """Yield a document as lines of YAML: blocks of mappings and lists, strings in the quotes of JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield f"{indent}{key}:"
                yield from _lines(inner, f"{indent}  ")
            else:
                yield f"{indent}{key}: {_scalar(inner)}"
        return
    for entry in value:
        inner_lines = list(_lines(entry, f"{indent}  ")) if isinstance(entry, dict) else [f"{indent}  {_scalar(entry)}"]
        yield f"{indent}- {inner_lines[0].lstrip()}"
        yield from inner_lines[1:]


def _scalar(value: Any) -> str:
    if value == EMPTY:
        return f'""{_FILL_IN}'
    if isinstance(value, float):
        text = repr(value)  # YAML 1.1 takes 1e-06 for a text, and 1.0e-06 for a number
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)


_MEDIA_TYPES = {"params": JSON, "report": JSON, "page": HTML}


@dataclass(frozen=True, kw_only=True)
class PublicFiles:
    """The files of a release as an entry describes them."""

    name: str
    """Package name of the release."""
    schema: pa.Schema
    """Columns of the data."""
    data: Mapping[str, str]
    """Name of each data file, seen from the folder of the release, to its SHA-256."""
    folder: str | None
    """Name of the folder of data; None where the data are one file."""
    sidecars: Mapping[str, tuple[str, str]]
    """Role of a further file ("params", "report", "page") to its name and its SHA-256."""
    report: Mapping[str, Any]
    license_name: str | None
    """Licence of the release as the policy names it."""

    def entry(self, word: str) -> bytes:
        """Return an entry as the bytes of its file, by the word that asks for it: "croissant" or "registry"."""
        if word == "registry":
            return build_registry_entry(name=self.name, report=self.report).encode()
        document = build_croissant(
            name=self.name,
            schema=self.schema,
            data=self.data,
            folder=self.folder,
            sidecars={name: (digest, _MEDIA_TYPES[role]) for role, (name, digest) in self.sidecars.items()},
            report=self.report,
            license_name=self.license_name,
        )
        return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
