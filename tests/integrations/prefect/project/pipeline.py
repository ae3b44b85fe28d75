"""A flow that releases and validates; its own task is tried again after a failure that follows the release."""

from fail_once import fail_once
from prefect import flow, task

from anonkit.integrations.prefect import may_be_retried, release_table, validate_table


@task(retries=2, retry_delay_seconds=0.1, retry_condition_fn=may_be_retried)
def release_and_more():
    """Release, then fail if that is requested."""
    release = release_table.fn(recipe="release.toml")
    fail_once()
    return release


@flow
def pipeline() -> None:
    """Release and validate."""
    validate_table(release_and_more())


if __name__ == "__main__":
    pipeline()
