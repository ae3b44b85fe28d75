# SPDX-License-Identifier: Apache-2.0
"""A stored release against a named profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anonkit.bundle.stored_release import Release, load
from anonkit.errors import ParameterError, ReleaseFormatError, did_you_mean
from anonkit.pipeline.profiles.european import ehds, gdpr_research
from anonkit.pipeline.profiles.hipaa import expert_determination, safe_harbor
from anonkit.pipeline.profiles.nist_pyramid import nist_800_226
from anonkit.pipeline.profiles.profile import Profile
from anonkit.pipeline.profiles.released_columns import ReleasedColumns

PROFILES: Mapping[str, Callable[[Mapping[str, Any], ReleasedColumns], Profile]] = {
    "hipaa-safe-harbor": safe_harbor,
    "hipaa-expert": expert_determination,
    "gdpr-research": gdpr_research,
    "ehds": ehds,
    "nist-800-226": nist_800_226,
}
"""The profiles by name."""


def release_profile(release: str | Path | Release, name: str) -> Profile:
    """Return what the files of a release show of each requirement of a rule or standard.

    Parameters
    ----------
    release : path or Release
        A release on disk or in a store, by any of its files.
    name : str
        One of `PROFILES`.

    Raises
    ------
    ParameterError
        No profile has this name.
    ReleaseFormatError
        The release is not there, or its report is damaged.

    Notes
    -----
    It reads the report and the released cells and recounts nothing: `anonkit validate` does. It is evidence for a
    person who decides, and no verdict of law.
    """
    if name not in PROFILES:
        raise ParameterError(f"no profile is named {name!r}", did_you_mean(name, PROFILES))
    loaded = release if isinstance(release, Release) else load(release)
    try:
        return PROFILES[name](loaded.report, ReleasedColumns.of(loaded))
    except (KeyError, TypeError, AttributeError):
        raise ReleaseFormatError("the report is damaged", "anonkit validate tells what was changed") from None
