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
COPIES = {
    "csv": ".csv",
    "tsv": ".tsv",
    "xlsx": ".xlsx",
    "sav": ".sav",
    "dta": ".dta",
    "arrow": ".arrow",
    "sqlite": ".sqlite",
}
"""Suffixes of the copies of the data in other forms, by form; a release has those that its descriptor lists.

They are not among `NAMED`: a file of such a name beside a release may be anybody's, such as the source itself.
"""
BESIDE_SQLITE = ("-wal", "-shm", "-journal")
"""Suffixes, behind a file of SQLite, of the files that SQLite reads with it."""
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
"""Purpose of each file of a release, in the order of lists."""


def copy_of(name: str) -> tuple[str, str] | None:
    """Return the stem of a file's name and the form that its suffix means; None where it is no name of a copy."""
    return next(
        (
            (name.removesuffix(suffix), form)
            for form, suffix in COPIES.items()
            if name.endswith(suffix) and name != suffix
        ),
        None,
    )


def package_name(stem: str) -> str:
    """Return a Data Package name for a file stem: lower case, letters, digits, - . _ only."""
    cleaned = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-._") else "-" for letter in stem.lower()
    )
    return cleaned.strip("-") or "release"
