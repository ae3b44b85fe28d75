# SPDX-License-Identifier: Apache-2.0
"""The engine of a cluster: the only modules that import PySpark, imported on first use.

Executors run the same batch functions as the local engine; the driver receives sizes, counts and small groups, never
all rows.

``spark_engine``, ``spark_sessions``
    The engine, and the session it runs in.
``spark_sources``, ``spark_copies``, ``spark_columns``, ``spark_categories``
    Tables as numbered splits, copies with stable row numbers, column types, categories.
``spark_counts``, ``spark_order``, ``spark_workers``
    Counting by the executors, shards in table order or shuffled, and files of a release read where the executors are.
"""
