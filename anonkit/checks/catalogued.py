# SPDX-License-Identifier: Apache-2.0
"""Consistency of a release's entries for catalogues and registries with its other files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from anonkit import __version__
from anonkit.bundle.capped_files import read_capped
from anonkit.bundle.data_files import digests_of, parts_of, sha256
from anonkit.bundle.release_names import DATA, EMITTED, PAGE, PARAMS, REPORT, package_name
from anonkit.bundle.release_place import Place
from anonkit.checks.sameness import none_of
from anonkit.promises.guarantee import Check
from anonkit.report.catalogue_entries import PublicFiles

_DESCRIBED = {"params": PARAMS, "report": REPORT, "page": PAGE}


def catalogue_checks(
    place: Place, schema: pa.Schema, report: Mapping[str, Any], license_name: str | None
) -> Iterator[Check]:
    """Check the entries beside a release; a release may have none.

    The version that wrote an entry makes the same entry again, byte for byte. Of that of another version only the
    sentence of the promise is looked at. Its hash is looked at like those of all files.

    Parameters
    ----------
    schema : pyarrow.Schema
        That of the data file.
    license_name : str, optional
        Licence of the release, as its other files state it.
    """
    for word, suffix in EMITTED.items():
        if place.file(suffix).exists():
            content = read_capped(place.file(suffix))
            yield none_of(word, not _says_the_same(word, content, place, schema, report, license_name))


def _says_the_same(
    word: str, content: bytes, place: Place, schema: pa.Schema, report: Mapping[str, Any], license_name: str | None
) -> bool:
    if report["anonkit_version"] != __version__:
        return json.dumps(report["guarantee"]["statement"], ensure_ascii=False).encode() in content
    return content == public_files(place, schema, report, license_name).entry(word)


def public_files(place: Place, schema: pa.Schema, report: Mapping[str, Any], license_name: str | None) -> PublicFiles:
    """Return the files of a release on disk as an entry describes them; parameters as those of `catalogue_checks`."""
    data = place.file(DATA)
    return PublicFiles(
        name=package_name(place.stem),
        schema=schema,
        data=digests_of({part.relative_to(place.folder).as_posix(): part for part in parts_of(data)}),
        folder=data.name if data.is_dir() else None,
        sidecars={role: (place.name(suffix), sha256(place.file(suffix))) for role, suffix in _DESCRIBED.items()},
        report=report,
        license_name=license_name,
    )
