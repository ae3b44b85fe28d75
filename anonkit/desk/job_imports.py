# SPDX-License-Identifier: Apache-2.0
"""Imports of the jobs of the desk, made once: workers begin as copies of a process that has imported this.

Models, DuckDB and the page of a report take seconds to import, which each worker would pay before its first figure.
"""

from __future__ import annotations

from importlib import import_module

from anonkit.report.document import make_ready

MODULES = (
    "anonkit.desk.job_kinds",
    "anonkit.engines.local.local_engine",
    "anonkit.engines.reading.open_source",
    "anonkit.methods.mondrian",
    "anonkit.methods.rfka",
    "anonkit.report.page",
    "duckdb",
    "pandas",
    "pyarrow.dataset",
    "sklearn.ensemble",
    "sklearn.linear_model",
)

for _name in MODULES:
    import_module(_name)
make_ready()
