# SPDX-License-Identifier: Apache-2.0
"""Refusals before a desk opens: of a table in no recipe, a key that cannot sign, a folder that is handed out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anonkit.bundle.signing import Signer
from anonkit.desk.decided_release import RELEASE
from anonkit.engines.snapshots.addresses import source_at
from anonkit.errors import ParameterError, SourceError, option
from anonkit.redaction import argument_forms, is_address


def check_source(
    source: str, sign: Path | None, how: Mapping[str, Any] | None = None, population: str | None = None
) -> None:
    """Refuse a table that cannot be in a recipe, or is not there, and a key that cannot sign.

    `how` says how the table is read: an option out of its range is refused too. So is a file of the population that is
    not there.

    Raises
    ------
    AnonkitError
    """
    if source == "-":
        raise ParameterError("the desk reads the table more than once", "write it to a file first")
    for place in filter(None, (source, population)):
        if argument_forms(place):
            raise ParameterError(
                "this address holds a secret, and would be in the recipe", "leave it to the environment"
            )
        source_at(place, **((how or {}) if place is source else {}))
        if not is_address(place) and not Path(place).exists() and "*" not in place:
            raise SourceError(f"{place!r} does not exist", "anonkit desk people.csv")
    if sign is not None:
        Signer.load(sign)


def refuse_handed_out(folder: Path) -> None:
    """Refuse a folder that a release has for itself: the session and the owner's figures would be handed out with it.

    Such a folder has the name of its release.

    Raises
    ------
    ParameterError
    """
    name = Path(RELEASE).stem
    if folder.resolve().name == name:
        raise ParameterError(
            f"a folder with the name {name!r} would be handed out with the release, and the session with it",
            f"name another folder by {option('output')}",
        )
