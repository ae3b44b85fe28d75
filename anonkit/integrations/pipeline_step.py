# SPDX-License-Identifier: Apache-2.0
"""A step of a pipeline: it releases or validates, and hands on nothing but what everybody may know.

A scheduler runs a step again whenever it likes. The release itself sees to it that this spends nothing: an existing
release that is the same is used again. What is left for a step is to decide which failures are worth another attempt
(`AnonkitError.may_be_retried`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anonkit
from anonkit.errors import (
    AnonkitError,
    EngineError,
    GuaranteeError,
    ParameterError,
    UncheckedError,
    option,
    warnings_unsaid,
)
from anonkit.pipeline.recipe import run_recipe

_PUBLIC = ("files", "sha256", "anonkit_version", "method", "guarantee", "budget", "rows", "randomness", "notes")
"""Public facts of a release that are passed on, out of `Release.to_dict`."""
_SHOWN = 5
_BESIDE_RECIPES = (
    *("output", "sign", "force", "dry_run", "progress", "ledger", "dataset", "budget", "budget_delta"),
    *("budget_neighbours", "budget_unit", "accept_joint_k", "new_ledger", "only_new", "released_before"),
)
"""Keywords of `run_recipe`."""

_T = TypeVar("_T")


def make_release(recipe: str | Path | None = None, source: object = None, **arguments: Any) -> anonkit.Release:
    """Make the release that a recipe describes, or the one that the keywords of `anonkit.release` describe.

    Parameters
    ----------
    recipe : path, optional
        A recipe file; then where the release goes and whose budget is charged may be given, and nothing else.
    source : path or table, optional
        The table, without a recipe.
    **arguments
        Keywords of `anonkit.release`; those that are None are left out.

    Raises
    ------
    ParameterError
        Not exactly one of recipe and source is given, nothing says where the release is written, or a keyword is given
        beside a recipe that names the source.
    AnonkitError
        Those of `anonkit.release`; any other failure without its details.

    Privacy
    -------
    What comes back still knows the owner's measures. Hand on `public_facts` of it, or a copy.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if (recipe is None) == (source is None):
        raise ParameterError("a release needs either a recipe or a source", 'recipe="customers.toml"')
    if recipe is not None:
        for name in given:
            if name not in _BESIDE_RECIPES:
                raise ParameterError(
                    f"{name} is given beside a recipe, which says what is released", "write it into the recipe"
                )
        return _quietly(partial(run_recipe, recipe, **given))
    if "output" not in given:
        raise ParameterError("output is not given", 'a pipeline needs its release on disk: output="out.parquet"')
    return _quietly(partial(anonkit.release, source, **given))


def validate_release(release: str | Path | anonkit.Release, **requirements: Any) -> list[dict[str, Any]]:
    """Return the checks of `anonkit.validate`, as plain JSON types, failed ones among them.

    Raises
    ------
    ReleaseFormatError
        There is no release.
    UncheckedError
        A declaration or requirement was not checked.
    AnonkitError
        It could not be checked; any other failure without its details.
    """
    given = {name: value for name, value in requirements.items() if value is not None}
    if isinstance(release, str | Path):
        release = _quietly(partial(anonkit.load, release))  # what is not there is no plain table, and may come
    validation = _quietly(partial(anonkit.validate, release, **given))
    if validation.unchecked:  # what was not looked at is no pass, whatever else holds
        raise UncheckedError(
            f"{str(release)!r}: could not check {', '.join(validation.unchecked)}",
            f"l, t, alpha and beta are about columns: {option('sensitive', ['NAME'])}",
        )
    checks: list[dict[str, Any]] = validation.to_dict()["checks"]
    return checks


def public_facts(release: anonkit.Release) -> dict[str, Any]:
    """Return the public result of a step: paths, hashes and the figures of the release, as plain JSON types.

    Privacy
    -------
    All of it is in the files of the release. The owner's measures are not in it.
    """
    document = release.to_dict()
    return {name: document[name] for name in _PUBLIC}


def refuse_failed(checks: Sequence[Mapping[str, Any]], release: str | Path) -> None:
    """Refuse a release of which a check failed, or of which nothing was checked.

    Parameters
    ----------
    checks : sequence of mapping
        As `Validation.to_dict` gives them.
    release : path
        Which release was validated.

    Raises
    ------
    GuaranteeError
        It does not keep its promise.
    """
    failed = [check["name"] for check in checks if not check["passed"]]
    if failed or not checks:
        more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
        raise GuaranteeError(
            f"{str(release)!r} does not keep its promise: {', '.join(failed[:_SHOWN]) or 'nothing was checked'}{more}",
            "anonkit validate shows every check",
        )


def is_final(error: BaseException) -> bool:
    """Return True if the same step would fail again, however often a scheduler tried."""
    return isinstance(error, AnonkitError) and not error.may_be_retried


def _quietly(step: Callable[[], _T]) -> _T:
    """Do a step; a failure discloses no cell that a library, or a line of the traceback, quotes.

    Platforms keep messages, tracebacks and warnings of their steps for years, where many can read them.
    """
    failure: AnonkitError
    try:
        with warnings_unsaid():
            return step()
    except AnonkitError as error:
        failure = error
    except Exception as error:
        kind = EngineError if isinstance(error, OSError | MemoryError) else AnonkitError  # a disk may have space later
        failure = kind(
            f"the step failed inside anonkit ({type(error).__name__})",
            "the same release by `anonkit` on the command line, with ANONKIT_DEBUG=1, shows where; it may quote cells",
        )
    raise failure.with_traceback(None) from None
