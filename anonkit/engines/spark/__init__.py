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

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonkit.engines.spark.spark_engine import SparkEngine as SparkEngine

__all__ = ["SparkEngine"]


def __getattr__(name: str) -> object:
    """Import the engine when it is first used: PySpark is an extra."""
    if name == "SparkEngine":
        from anonkit.engines.spark.spark_engine import SparkEngine

        return SparkEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
