"""The release as an asset, its validation as checks, and what is made of it."""

import os

from dagster import Definitions, MaterializeResult, RetryPolicy, asset
from fail_once import FAIL_ONCE, fail_once

from anonkit.integrations.dagster import materialize_release, release_asset, release_checks

SOON = RetryPolicy(max_retries=2, delay=0.1)

if FAIL_ONCE in os.environ:

    @asset(retry_policy=SOON)
    def customers() -> MaterializeResult:
        """Release, then fail if that is requested."""
        result = materialize_release(recipe="release.toml")
        fail_once()
        return result
else:
    customers = release_asset("customers", recipe="release.toml", retry_policy=SOON)

checks = release_checks(customers, each=("epsilon",))


@asset(deps=[customers])
def published() -> None:
    """The step after the checks."""


definitions = Definitions(assets=[customers, published], asset_checks=[checks])
