# SPDX-License-Identifier: Apache-2.0
"""Prefect: tasks that release a table and validate a release, with the report as a Markdown artifact.

Needs `pip install 'anonkit[prefect]'`. How to use them: docs/how-to/prefect.md.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import anonkit
from anonkit.errors import MissingDependencyError
from anonkit.integrations.pipeline_step import is_final, make_release, refuse_failed, validate_release
from anonkit.report.markdown import report_markdown, validation_markdown

try:
    from prefect import task
    from prefect.artifacts import create_markdown_artifact
    from prefect.cache_policies import NO_CACHE
except ImportError:
    raise MissingDependencyError.of_extra("Prefect", "prefect") from None


def may_be_retried(task: Any, run: Any, state: Any) -> bool:
    """Return True if another attempt may succeed: `retry_condition_fn` of the tasks here and of your own."""
    return not is_final(state.result(raise_on_failure=False))


@task(
    name="anonkit release",
    retries=2,
    retry_delay_seconds=[30, 60],
    retry_condition_fn=may_be_retried,
    cache_policy=NO_CACHE,  # anonkit recognizes an existing release; a cached result would outlive its files
)
def release_table(
    recipe: str | Path | None = None,
    source: object = None,
    *,
    output: str | Path | None = None,
    artifact: str | None = None,
    **arguments: Any,
) -> anonkit.Release:
    """Release a table, by a recipe or by the keywords of `anonkit.release`; the report becomes an artifact.

    Parameters
    ----------
    recipe, source : path or table
        One of them: a recipe, or a table.
    output : path, optional
        Where the release is written; needed with a source.
    artifact : str, optional
        Key of the artifact: small letters, digits and dashes; by default from the name of the output.
    **arguments
        Further keywords of `anonkit.release`.

    Returns
    -------
    Release
        On disk, without the owner's measures.

    Raises
    ------
    AnonkitError
        Prefect tries again only what may succeed later (`may_be_retried`).

    Privacy
    -------
    Prefect stores the artifact, and results where they are persisted: both hold the release alone.
    """
    release = copy.copy(make_release(recipe, source, output=output, **arguments))
    assert release.place is not None  # noqa: S101 - a pipeline's release is on disk
    create_markdown_artifact(
        report_markdown(release.report),
        key=artifact or artifact_key(release.place.stem, "report"),
        description=f"Privacy report of {release.place.name('.parquet')}",
    )
    return release


@task(
    name="anonkit validate",
    retries=2,
    retry_delay_seconds=[10, 30],
    retry_condition_fn=may_be_retried,
    cache_policy=NO_CACHE,  # files change
)
def validate_table(release: str | Path | anonkit.Release, *, artifact: str | None = None, **requirements: Any) -> None:
    """Validate a release from its files alone; the checks become an artifact, whether they passed or not.

    Parameters
    ----------
    release : path or Release
    artifact : str, optional
        Key of the artifact: small letters, digits and dashes; by default from the name of the release.
    **requirements
        Keywords of `anonkit.validate`: requirements beyond the release's promise, and `signed_by`.

    Raises
    ------
    GuaranteeError
        The release does not keep its promise; Prefect does not try it again.
    AnonkitError
        It could not be checked.
    """
    place = (
        release.place.file(".parquet") if isinstance(release, anonkit.Release) and release.place else Path(str(release))
    )
    checks = validate_release(release, **requirements)
    create_markdown_artifact(
        validation_markdown(checks),
        key=artifact or artifact_key(place.stem, "checks"),
        description=f"Checks of {place.name}",
    )
    refuse_failed(checks, place)


def artifact_key(*parts: str) -> str:
    """Return the key of an artifact: small letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-") or "anonkit"
