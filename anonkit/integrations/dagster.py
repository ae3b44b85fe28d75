# SPDX-License-Identifier: Apache-2.0
"""Dagster: a release as an asset, and its validation as asset checks.

Needs `pip install 'anonkit[dagster]'`. How to use it: docs/how-to/dagster.md.
"""

# no annotations from the future: Dagster reads those of the functions below, and refuses strings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from anonkit.errors import AnonkitError, MissingDependencyError, ParameterError
from anonkit.integrations.pipeline_step import is_final, make_release, public_facts, validate_release
from anonkit.report.markdown import report_markdown, validation_markdown
from anonkit.report.wording import check_words

try:
    from dagster import (
        AssetCheckExecutionContext,
        AssetCheckResult,
        AssetChecksDefinition,
        AssetCheckSpec,
        AssetExecutionContext,
        AssetsDefinition,
        Backoff,
        DataVersion,
        Failure,
        MaterializeResult,
        MetadataValue,
        RetryPolicy,
        asset,
        multi_asset_check,
    )
except ImportError:
    raise MissingDependencyError.of_extra("Dagster", "dagster") from None

KEPT = "keeps_its_promise"
"""Name of the asset check for every check of `anonkit.validate` that has none of its own."""
PARTITION = "{partition_key}"
"""In a path of a partitioned asset: replaced by the key of the partition."""
ATTEMPTS = RetryPolicy(max_retries=2, delay=30, backoff=Backoff.EXPONENTIAL)
"""Attempts after a failure of the surroundings; refusals fail at once, whatever the policy."""
_CHECK_OF_REQUIREMENT = {"k": "k_anonymity", "l": "l_diversity", "t": "t_closeness", "alpha": "alpha_k_anonymity"}


def release_asset(
    name: str,
    *,
    recipe: str | Path | None = None,
    source: str | Path | None = None,
    deps: Iterable[Any] = (),
    retry_policy: RetryPolicy | None = ATTEMPTS,
    asset_options: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> AssetsDefinition:
    """Return an asset whose materialization is a release.

    Parameters
    ----------
    name : str
        Of the asset.
    recipe, source : path
        One of them: a recipe, or a table that is released with the keywords of `anonkit.release`. In these and in
        every other string `{partition_key}` is the partition's key.
    deps : iterable
        Assets that the table comes from.
    retry_policy : RetryPolicy, optional
        For failures that may pass; by default two more attempts, after 30 and 60 seconds.
    asset_options : mapping, optional
        Further keywords of `dagster.asset`, such as `partitions_def` and `group_name`.
    **arguments
        Keywords of `anonkit.release`; for a recipe those that say where the release goes and whose budget is
        charged, such as `output`, `force`, `ledger`, `dataset`, `budget` and `new_ledger`.

    Privacy
    -------
    Dagster stores the metadata and shows them to all its users: they hold the public report alone.
    """
    described = {"recipe": recipe, "source": source, **arguments}

    @asset(
        name=name,
        deps=list(deps),
        retry_policy=retry_policy,
        **{"description": "A release by anonkit: data, params and report.", "kinds": {"anonkit"}}
        | dict(asset_options or {}),
    )
    def released(context: AssetExecutionContext) -> MaterializeResult:
        key = context.partition_key if context.has_partition_key else None
        return materialize_release(**{name: _of_partition(value, key) for name, value in described.items()})

    return released


def materialize_release(**described: Any) -> MaterializeResult:
    """Make a release inside an asset of one's own, and return what the asset returns.

    Parameters
    ----------
    **described
        `recipe`, or `source` (a path or a table, such as the data frame of an upstream asset), and the keywords of
        `anonkit.release`.

    Raises
    ------
    dagster.Failure
        It failed for good; Dagster does not try it again.
    AnonkitError
        It failed, and another attempt may succeed.
    """
    try:
        release = make_release(**described)
    except AnonkitError as error:
        raise _failure(error) from None
    facts = public_facts(release)
    epsilon = facts["budget"]["epsilon"]
    return MaterializeResult(
        metadata={
            "report": MetadataValue.md(report_markdown(release.report)),
            "dagster/row_count": facts["rows"]["out"],
            "promise": facts["guarantee"]["kind"],
            **({} if epsilon is None else {"epsilon": MetadataValue.float(float(epsilon))}),
            **{role: MetadataValue.path(path) for role, path in facts["files"].items() if role != "report"},
            "report_json": MetadataValue.path(facts["files"]["report"]),
            "sha256": facts["sha256"]["data"],
        },
        data_version=DataVersion(facts["sha256"]["data"]),
    )


def release_checks(
    asset: AssetsDefinition,
    release: str | Path | None = None,
    *,
    each: Sequence[str] = (),
    blocking: bool = True,
    **requirements: Any,
) -> AssetChecksDefinition:
    """Return asset checks that validate a release from its files alone.

    Parameters
    ----------
    asset : AssetsDefinition
        What `release_asset` returned, or any asset with the path of a release in the metadata entry `data`.
    release : path, optional
        The release; by default where the last materialization put it.
    each : sequence of str
        Checks of `anonkit.validate` that become asset checks of their own, each with what was found and what is
        required, such as ("k_anonymity", "l_diversity") or ("epsilon",). One that was not made fails. All others are
        the asset check `keeps_its_promise`.
    blocking : bool
        Whether what comes after the asset waits, and is not made when a check fails.
    **requirements
        `k`, `l`, `t`, `alpha`, `beta`, `quasi_identifiers`, `sensitive` and `signed_by` of `anonkit.validate`. Each
        requirement is a check of its own.
    """
    own = dict.fromkeys(
        [*each, *(check for keyword, check in _CHECK_OF_REQUIREMENT.items() if requirements.get(keyword) is not None)]
    )
    names = [KEPT, *own]

    @multi_asset_check(
        name=f"{asset.key.to_python_identifier()}_checks",
        specs=[
            AssetCheckSpec(name, asset=asset.key, blocking=blocking, description=_described(name)) for name in names
        ],
    )
    def validated(context: AssetCheckExecutionContext) -> Iterator[AssetCheckResult]:
        try:
            checks = validate_release(_last_release(context, asset) if release is None else release, **requirements)
        except AnonkitError as error:
            raise _failure(error) from None
        for name in names:
            mine = [check for check in checks if (_kind(check) if _kind(check) in own else KEPT) == name]
            yield AssetCheckResult(
                check_name=name,
                passed=bool(mine) and all(check["passed"] for check in mine),
                description=_found(mine),
                metadata={"checks": MetadataValue.md(validation_markdown(mine)), **_figures(mine)},
            )

    return validated


def _of_partition(value: Any, key: str | None) -> Any:
    """Return a keyword with the key of the partition in it."""
    if isinstance(value, Path):
        value = str(value)
    return value.replace(PARTITION, key) if isinstance(value, str) and key is not None else value


def _last_release(context: AssetCheckExecutionContext, asset: AssetsDefinition) -> str:
    event = context.instance.get_latest_materialization_event(asset.key)
    materialization = None if event is None else event.asset_materialization
    place = None if materialization is None else materialization.metadata.get("data")
    if place is None:
        raise _failure(ParameterError(f"asset {asset.key.to_user_string()!r} has no release yet", "materialize it"))
    return str(place.value)


def _failure(error: AnonkitError) -> Exception:
    """Return the error for Dagster: a failure that it does not retry, or the error itself."""
    return Failure(description=f"{error.code}: {error}", allow_retries=False) if is_final(error) else error


def _described(name: str) -> str:
    """Return the subject of an asset check, in words."""
    if name == KEPT:
        return "Every other check of `anonkit validate`, from the files of the release alone."
    return f"{check_words(f'{name}:each attribute')[0]}: recounted from the files of the release alone."


def _kind(check: Mapping[str, Any]) -> str:
    return str(check["name"].partition(":")[0])


def _found(checks: Sequence[Mapping[str, Any]]) -> str:
    failed = [check["name"] for check in checks if not check["passed"]]
    if not checks:
        return "This check was not made."
    return f"{len(failed)} of {len(checks)} failed: {', '.join(failed)}" if failed else f"{len(checks)} passed"


def _figures(checks: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the found and required values of a single check, which Dagster then draws over time."""
    if len(checks) != 1:
        return {}
    figures = {key: checks[0][key] for key in ("observed", "required")}
    return {key: float(value) for key, value in figures.items() if isinstance(value, int | float)}
