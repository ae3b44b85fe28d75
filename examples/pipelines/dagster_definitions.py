"""A release in Dagster: `dagster dev -f dagster_definitions.py`. Needs `pip install 'anonkit[dagster]'`."""

from pathlib import Path

from dagster import Definitions, asset

import anonkit
from anonkit.integrations.dagster import release_asset, release_checks

HERE = Path(__file__).parent

customers = release_asset("customers", recipe=HERE / "customers.toml")
checks = release_checks(customers, each=("k_anonymity",))


@asset(deps=[customers])
def customers_by_value() -> None:
    """Made only of a release that passed its checks."""
    print(anonkit.load(HERE / "out" / "customers.parquet").to_pandas()["customer_value"].value_counts())


definitions = Definitions(assets=[customers, customers_by_value], asset_checks=[checks])
