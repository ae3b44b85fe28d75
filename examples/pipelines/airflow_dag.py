"""A release in Airflow 3: put it into the folder of your DAGs. Needs `pip install 'anonkit[airflow]'`."""

from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG

from anonkit.integrations.airflow import ReleaseOperator, ValidateOperator

HERE = Path(__file__).parent

with DAG("customers", schedule="@monthly", start_date=datetime(2026, 1, 1), catchup=False):
    release = ReleaseOperator(
        task_id="release",
        recipe=str(HERE / "customers.toml"),
        output_path=str(HERE / "out" / "customers-{{ ds_nodash }}.parquet"),
        retries=2,
        retry_delay=timedelta(minutes=5),
    )
    validate = ValidateOperator(
        task_id="validate", release="{{ ti.xcom_pull(task_ids='release')['files']['data'] }}", options={"k": 5}
    )
    release >> validate
