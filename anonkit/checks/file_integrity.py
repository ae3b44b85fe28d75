# SPDX-License-Identifier: Apache-2.0
"""Integrity of a release's files: format, hashes, the manifest inside the data file, and the signature.

Documents hold what their JSON Schemas declare, and nothing else: a reader believes `"certified": true`. Blocks that
other checks make again, key by key, are left to them. A method of somebody else may add blocks of its own to the params
and to the report, and measures to `utility`; the blocks of anonkit are closed for it too.

A signature is by a given key, and lists the files that are there. The envelope is read with code of its own, which
shares none with the signing.
"""

from __future__ import annotations

import base64
import binascii
import functools
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anonkit.bundle.data_files import digests_of, sha256
from anonkit.bundle.json_documents import parse_json, read_capped, refuse_irregular
from anonkit.bundle.release_place import COPIES, DATA, DESCRIPTOR, METADATA_KEY, PAGE, PARAMS, REPORT, SIGNATURE, Place
from anonkit.bundle.release_place import FORMAT as RELEASE_FORMAT
from anonkit.bundle.signing import read_key
from anonkit.checks.sameness import none_of
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check
from anonkit.report.document import FORMAT as REPORT_FORMAT
from anonkit.report.schemas import params_schema, report_schema

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from jsonschema_rs import Validator


@functools.cache
def own_methods() -> frozenset[str]:
    """Return the names of the methods of anonkit: those for which the schema of the params has a rule."""
    rules = params_schema()["allOf"]
    return frozenset(name for rule in rules for name in rule["if"]["properties"]["method"]["enum"])


class Order:
    """Keyword `x-order` of the schemas: numbers of a list ascend, or ascend strictly."""

    def __init__(self, _: Mapping[str, Any], value: str, path: list[str | int]) -> None:
        self._is_strict = value.startswith("strictly")

    def validate(self, instance: Any) -> None:
        """Refuse a list of numbers in another order; what is no such list is refused by its type.

        Raises
        ------
        ValueError
            Two neighbours are in the wrong order.
        """
        if not isinstance(instance, list) or not all(isinstance(entry, int | float) for entry in instance):
            return
        if any(low > high or (self._is_strict and low == high) for low, high in itertools.pairwise(instance)):
            raise ValueError("numbers are in another order")


def key_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Check that params and report are valid under their schemas: no key that is not theirs, no leaf of another kind.

    Parameters
    ----------
    params, report : mapping
        The sidecars.
    """
    is_own = report["method"]["name"] in own_methods()
    wrong = _errors(_params_validator(is_own=is_own), params) + _errors(_report_validator(is_own=is_own), report)
    if not is_recoded(params):  # there are no classes
        wrong += len(_measures(report, is_own=is_own)) + (report["disclosure_risk"] != {})
    if not {"mixtures", "histograms"} & set(params):  # no noisy counts of columns
        wrong += sum("mean" in column for column in report["columns"])
    if is_own:
        wrong += any(value is None for value in report["rows"].values())
        form = params["format"]
        counted = {"in", "suppressed", "out"} if form == _ANSWERS else {"out"}
        wrong += set(report["rows"]) != counted and form != PARAMS_FORMAT
    yield none_of("documents", wrong)


def _measures(report: Mapping[str, Any], *, is_own: bool) -> set[str]:
    """Return the measures of usefulness that anonkit defines; of a method of anonkit all."""
    return {key for key in report["utility"] if is_own or key in report_schema()["$defs"]["utility"]["properties"]}


def is_recoded(params: Mapping[str, Any]) -> bool:
    """Return True if the rows of a release are those of its source, with values made coarser."""
    return "recoding" in params


@functools.cache
def _params_validator(*, is_own: bool) -> Validator:
    schema = params_schema()
    return _validator({**schema, "additionalProperties": False} if is_own else schema)


@functools.cache
def _report_validator(*, is_own: bool) -> Validator:
    schema = report_schema()
    if is_own:
        schema["additionalProperties"] = schema["$defs"]["utility"]["additionalProperties"] = False
    return _validator(schema)


def _validator(schema: dict[str, Any]) -> Validator:
    import jsonschema_rs  # a library of some megabytes, for `validate` alone

    return jsonschema_rs.validator_for(schema, validate_formats=True, keywords={"x-order": Order})


def _errors(validator: Validator, document: Mapping[str, Any]) -> int:
    """Count the places of a document that are not as its schema declares."""
    try:
        return len({tuple(error.instance_path) for error in validator.iter_errors(document)})
    except UnicodeEncodeError:  # half of a character: text that no writer of UTF-8 can have written
        return 1


PARAMS_FORMAT = "anonkit-params/2"
"""Of releases with a recoding; the params of others name the format of their mechanism."""
_ANSWERS = "anonkit-randomized-1"
"""Of randomized answers, which say how many rows were read."""
_MECHANISMS = (
    _ANSWERS, "anonkit-forest-1", "anonkit-forest-2",
    "anonkit-noisy-tables-1", "anonkit-noisy-tables-2",
    "anonkit-noisy-histogram-1", "anonkit-aggregates-1",
    "anonkit-marginals-1", "anonkit-marginals-2", "anonkit-statement-1",
)  # fmt: skip
_RECODED = (PARAMS_FORMAT, "anonkit-drawn-rows-1")
_CURRENT = {"report.json": (REPORT_FORMAT,), "the manifest of the data": (RELEASE_FORMAT,)}
_LISTED = {suffix.lstrip(".") for suffix in (PARAMS, REPORT, PAGE)}
"""The sidecars whose hashes are in the data file; that of the descriptor cannot."""
_OLDER = ("anonkit-report/1", "anonkit-params/1", "anonkit-release/1")
"""Formats that lack what is looked at today: what they hold is neither a kept promise nor a forgery."""


_MOST_RESOURCES = 16
_LONGEST_NAME = 255
"""Bytes of a file's name."""


def refuse_other_formats(params: Mapping[str, Any], report: Mapping[str, Any], schema: pa.Schema) -> None:
    """Refuse to judge a release that was written in another format.

    Raises
    ------
    ReleaseFormatError
        One of its files is of an older format, or of one that this version does not know.
    """
    manifest = manifest_of(schema)
    versions = {"report.json": report.get("format"), "params.json": params.get("format")}
    if manifest is not None:
        versions["the manifest of the data"] = manifest.get("format")
    for file, version in versions.items():
        if version in _OLDER:
            raise ReleaseFormatError(
                f"written by an older format: {file} is {version}, which lacks what is checked today",
                f"release the table anew, or validate with the version that wrote it (anonkit {_version(report)})",
            )
        known = (_RECODED if is_recoded(params) else _MECHANISMS) if file == "params.json" else _CURRENT[file]
        if version not in known:
            raise ReleaseFormatError(
                f"{file} is of a format that this version of anonkit does not know", "use the version that wrote it"
            )


def _version(report: Mapping[str, Any]) -> str:
    version = report.get("anonkit_version")
    return (
        version if isinstance(version, str) and re.fullmatch(r"[0-9][0-9A-Za-z.+]{0,30}", version) else "of that time"
    )


def manifest_of(schema: pa.Schema) -> Mapping[str, Any] | None:
    """Return the manifest in the metadata of the data file; None when other tools dropped it.

    Raises
    ------
    ReleaseFormatError
        It is there and no JSON object.
    """
    raw = (schema.metadata or {}).get(METADATA_KEY.encode())
    if raw is None:
        return None
    try:
        manifest = parse_json(raw, "the manifest in the data file")
    except ReleaseFormatError:
        manifest = None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sidecars"), dict):
        raise ReleaseFormatError("the manifest in the data file is damaged", "was the file rewritten by another tool?")
    return manifest


def read_descriptor(place: Place) -> dict[str, Any]:
    """Read the Data Package descriptor of a release."""
    path = place.file(DESCRIPTOR)
    try:
        raw: dict[str, Any] = parse_json(read_capped(path), repr(str(path)))
        if len(raw["resources"]) > _MOST_RESOURCES:
            raise ValueError
        resources = {resource["name"]: _is_described(resource) for resource in raw["resources"]}
    except FileNotFoundError:
        raise ReleaseFormatError(f"{str(path)!r} does not exist") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ReleaseFormatError(f"{str(path)!r} is not the descriptor of a release") from None
    if not all(resources.values()):
        raise ReleaseFormatError(f"{str(path)!r} is not the descriptor of a release")
    if set(resources) < {"data", "params", "report", "page"}:
        raise ReleaseFormatError(f"{str(path)!r} does not name all files of the release")
    return raw


def _is_described(resource: Mapping[str, Any]) -> bool:
    """Return True if a file of a descriptor has a path that can be one, and a hash."""
    paths = resource["path"] if isinstance(resource["path"], list) else [resource["path"]]
    named = all(
        isinstance(path, str) and all(len(os.fsencode(part)) <= _LONGEST_NAME for part in path.split("/"))
        for path in paths
    )
    return named and bool(paths) and isinstance(resource["name"], str) and isinstance(resource["hash"], str)


def hash_checks(place: Place, descriptor: Mapping[str, Any]) -> Iterator[Check]:
    """Compare every file with the hash that the descriptor has of it."""
    for resource in descriptor["resources"]:
        is_data = resource["name"] == "data"
        path = place.file(DATA) if is_data else place.folder / Path(resource["path"]).name
        if not is_data:
            refuse_irregular(path)
        actual = sha256(path) if path.exists() else None
        stated = str(resource["hash"]).removeprefix("sha256:")
        yield Check(name=f"hash:{resource['name']}", passed=actual == stated, observed=actual, required=stated)


def manifest_checks(place: Place, schema: pa.Schema) -> Iterator[Check]:
    """Compare the sidecars with the hashes inside the data file; other tools drop those when they rewrite it."""
    manifest = manifest_of(schema)
    if manifest is None:
        yield Check(name="manifest", passed=False, observed="absent", required="present")
        return
    listed = set(manifest["sidecars"])
    yield Check(name="manifest", passed=listed == _LISTED, observed=len(listed), required=len(_LISTED))
    for name in sorted(_LISTED & listed):
        stated = manifest["sidecars"][name]
        path = place.file(f".{name}")
        actual = sha256(path) if path.exists() else None
        yield Check(name=f"manifest:{name}", passed=actual == stated, observed=actual, required=stated)


_PAYLOAD_TYPE = "application/vnd.in-toto+json"
_KINDS = ("https://in-toto.io/Statement/v1", "urn:anonkit:release:1")
_PUBLIC = "openssl pkey -in owner.pem -pubout -out owner.pub"


@dataclass(frozen=True, kw_only=True, eq=False)
class Envelope:
    """The content of `out.signature.json`: read, not yet believed."""

    payload: bytes
    signatures: tuple[bytes, ...]

    @classmethod
    def read(cls, place: Place) -> Envelope | None:
        """Read the signature of a release; None when it has none, or one that is no DSSE envelope."""
        try:
            document = parse_json(read_capped(place.file(SIGNATURE)), "the signature")
            if not isinstance(document, dict) or document["payloadType"] != _PAYLOAD_TYPE:
                return None
            return cls(
                payload=base64.b64decode(document["payload"], validate=True),
                signatures=tuple(
                    base64.b64decode(signature["sig"], validate=True) for signature in document["signatures"]
                ),
            )
        except (OSError, ReleaseFormatError, ValueError, KeyError, TypeError, binascii.Error):
            return None

    def is_signed_by(self, key: Ed25519PublicKey) -> bool:
        """Return True if one of the signatures is by this key."""
        from cryptography.exceptions import InvalidSignature

        signed = _signed_bytes(self.payload)
        for signature in self.signatures:
            try:
                key.verify(signature, signed)
            except InvalidSignature:
                continue
            return True
        return False

    def files(self) -> dict[str, str] | None:
        """Return the SHA-256 of every file the statement lists, by name; None when it is no statement of a release."""
        try:
            statement = parse_json(self.payload, "the statement that was signed")
            subjects = statement["subject"]
            files = {str(subject["name"]): str(subject["digest"]["sha256"]) for subject in subjects}
            kinds = (statement["_type"], statement["predicateType"])
        except (ReleaseFormatError, KeyError, TypeError):
            return None
        whole = len(files) == len(subjects) and kinds == _KINDS
        return files if whole else None


def read_public_key(path: str | Path) -> Ed25519PublicKey:
    """Read a public key: Ed25519 in PEM, as `openssl pkey -pubout` writes it.

    Raises
    ------
    ReleaseFormatError
        It cannot be read, or is a key of another kind.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    pem = read_key(Path(path), _PUBLIC)
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        what = "a private key: give the public one" if b"PRIVATE KEY-----" in pem else "not a public key"
        raise ReleaseFormatError(f"{str(path)!r} is {what}", _PUBLIC) from None
    if not isinstance(key, Ed25519PublicKey):
        raise ReleaseFormatError(f"the key {str(path)!r} is not an Ed25519 key", _PUBLIC)
    return key


def signature_checks(place: Place, key: Ed25519PublicKey | None) -> Iterator[Check]:
    """Check the signature of a release.

    Parameters
    ----------
    place : Place
    key : Ed25519PublicKey, optional
        Who must have signed. Without it the signer is not checked; the files of a release that has a signature
        are compared with it all the same.

    Yields
    ------
    Check
        `signature`: the key signed what the envelope holds. `signed_files`: the files are those that are listed, no
        other, none changed, none missing; what is observed is the number of files that differ.
    """
    if key is None and not place.file(SIGNATURE).exists():
        return
    envelope = Envelope.read(place)
    if key is not None:
        state = "absent" if not place.file(SIGNATURE).exists() else "unreadable" if envelope is None else None
        if envelope is not None:
            state = "by this key" if envelope.is_signed_by(key) else "not by this key"
        yield Check(name="signature", passed=state == "by this key", observed=state, required="by this key")
    listed = None if envelope is None else envelope.files()
    # the statement says which copies there are: the descriptor is not read before it is known to be the signed one
    standing = digests_of(
        place.files([form for form, suffix in COPIES.items() if place.name(suffix) in (listed or ())])
    )
    if listed is None:
        yield Check(name="signed_files", passed=False, observed="no list of files", required=0)
        return
    differ = sum(listed.get(name) != standing.get(name) for name in listed.keys() | standing.keys())
    yield Check(name="signed_files", passed=differ == 0, observed=differ, required=0)


def _signed_bytes(payload: bytes) -> bytes:
    """Return the bytes a signature is over: the pre-authentication encoding of DSSE 1.0."""
    parts = (_PAYLOAD_TYPE.encode(), payload)
    return b" ".join([b"DSSEv1", *(part for field in parts for part in (str(len(field)).encode(), field))])
