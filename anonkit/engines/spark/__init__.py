# SPDX-License-Identifier: Apache-2.0
"""The engine of a cluster: the only modules that import PySpark, imported on first use."""

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
