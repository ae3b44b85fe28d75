"""A task that releases, and one that validates what the first one returned."""

from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG
from fail_once import fail_once

from anonkit.integrations.airflow import ReleaseOperator, ValidateOperator

PROJECT = Path(__file__).parents[1]


class FailsAfterwards(ReleaseOperator):
    """Release, then fail if that is requested."""

    def execute(self, context):
        facts = super().execute(context)
        fail_once(PROJECT / "out")
        return facts


with DAG("pipeline", schedule=None, start_date=datetime(2026, 1, 1)):
    release = FailsAfterwards(
        task_id="release", recipe=str(PROJECT / "release.toml"), retries=2, retry_delay=timedelta(seconds=1)
    )
    validate = ValidateOperator(
        task_id="validate", release="{{ ti.xcom_pull(task_ids='release')['files']['data'] }}", retries=0
    )
    release >> validate
