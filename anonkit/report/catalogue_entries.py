# SPDX-License-Identifier: Apache-2.0
"""Entries for catalogues and registries, each made of the public files of a release and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from anonkit.report.croissant import HTML, JSON, build_croissant
from anonkit.report.registry_entry import build_registry_entry

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
