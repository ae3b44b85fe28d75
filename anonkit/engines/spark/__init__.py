# SPDX-License-Identifier: Apache-2.0
"""The engine of a cluster: the only modules that import PySpark, imported on first use.

Executors run the same batch functions as the local engine; the driver receives sizes, counts and small groups, never
all rows.

``spark_engine``, ``spark_beside``
    The engine, and counts that executors make while the driver searches.
``spark_sources``
    Tables as numbered splits, and copies with stable row numbers.
``spark_workers``
    Files of a release read where the executors are.
"""
