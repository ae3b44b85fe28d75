"""A release in Prefect: `python prefect_flow.py`. Needs `pip install 'anonkit[prefect]'`."""

from pathlib import Path

from prefect import flow

from anonkit.integrations.prefect import release_table, validate_table

HERE = Path(__file__).parent


@flow(log_prints=True)
def publish_customers() -> None:
    """Release and validate; what comes after it reads the release."""
    release = release_table(recipe=HERE / "customers.toml")
    validate_table(release, k=5)
    print(release.to_pandas()["customer_value"].value_counts())


if __name__ == "__main__":
    publish_customers()
