"""The checks of the release."""

from anonkit.integrations.dbt import validate_model


def model(dbt, session):
    """Validate the release that the other model made."""
    dbt.config(materialized="table")
    dbt.ref("released")
    return validate_model("out/")
