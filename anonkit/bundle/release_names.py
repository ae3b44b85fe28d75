# SPDX-License-Identifier: Apache-2.0
"""Names of the files of a release: the suffix of each, what it is for, and the name of its package."""

from __future__ import annotations

from anonkit.bundle.data_files import SUFFIX

FORMAT = "anonkit-release/2"
DATA, PARAMS, REPORT, PAGE, DESCRIPTOR = SUFFIX, ".params.json", ".report.json", ".report.html", ".datapackage.json"
SIDECARS = (PARAMS, REPORT, PAGE, DESCRIPTOR)
SIGNATURE = ".signature.json"
"""Suffix of the signature over all other files, for releases that are signed."""
EMITTED = {"croissant": ".croissant.json", "registry": ".registry.yaml"}
"""Suffixes of the entries for catalogues and registries, by the word that asks for them; a release may have none."""
NAMED = (DATA, *SIDECARS, *EMITTED.values(), SIGNATURE)
"""Suffixes of all files that a release may have."""
METADATA_KEY = "anonkit"
ROLES = {
    "data": DATA,
    "params": PARAMS,
    "report": REPORT,
    "page": PAGE,
    "descriptor": DESCRIPTOR,
    **EMITTED,
    "signature": SIGNATURE,
}
"""What each file of a release is for, in the order they are told."""


def package_name(stem: str) -> str:
    """Return a Data Package name for a file stem: lower case, letters, digits, - . _ only."""
    cleaned = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-._") else "-" for letter in stem.lower()
    )
    return cleaned.strip("-") or "release"
