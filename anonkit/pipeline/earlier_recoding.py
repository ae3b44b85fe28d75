# SPDX-License-Identifier: Apache-2.0
"""The recoding of an earlier release as a method: `anonkit apply` releases the next batch with it."""

from __future__ import annotations

from pathlib import Path

from anonkit.bundle.json_documents import read_json
from anonkit.bundle.stored_release import PARAMS, Place, refuse_changed
from anonkit.k_anonymity.stored_recoding import Recoded


def earlier_recoding(params: str | Path, *, max_suppression: float | None = None) -> Recoded:
    """Return the recoding of an earlier k-anonymous release, its files checked against their hashes.

    Parameters
    ----------
    params : path
        The `params.json` of the earlier release, or any other file of it.
    max_suppression : float, optional
        Share of rows that may be left out, in [0, 1]; the earlier release's by default.

    Raises
    ------
    GuaranteeError
        `params.json` was changed after the release.
    ReleaseFormatError
        It is missing or damaged, or not that of a k-anonymous release.
    """
    place = Place.of(params)
    refuse_changed(place, PARAMS)
    return Recoded.from_params(read_json(place.file(PARAMS)), max_suppression=max_suppression)
