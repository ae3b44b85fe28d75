# SPDX-License-Identifier: Apache-2.0
"""Ready-made steps for other people's pipelines, one module a tool, each tool imported in its own module alone.

``dagster``
    A release as an asset, and its validation as asset checks.
``airflow``
    Operators that release and validate.
``prefect``
    Tasks that release and validate, with the report as an artifact.
``dbt``
    Python models that release and validate; tests of k, l and t in SQL.
``great_expectations``
    k, l, t and the promise of a release as expectations on batches.
``pipeline_step``
    What the others share: a step that releases or validates, what it hands on, and whether a failure may be retried.

A tool brings its own dependencies: `pip install 'anonkit[dagster]'`. The extras exclude each other, so that each is
installed into an environment of its own.
"""
