"""A model that releases, then fails once if that is requested."""

from fail_once import fail_once

from anonkit.integrations.dbt import release_model


def model(dbt, session):
    """Release the customers."""
    dbt.config(materialized="table")
    source = dbt.ref("customers")
    table = release_model(source, output="out/", method="dp-nb", epsilon=1.0, policy="policy.toml")
    fail_once()
    return table
