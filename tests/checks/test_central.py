"""Releases with central differential privacy read anew: the account, and the cells."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.checks.central import domain_checks

COLUMNS = [
    {"name": "age", "type": "number", "domain": {"bounds": [0, 10], "cells": 5, "has_missing": False}},
    {"name": "sex", "type": "category", "domain": {"categories": ["F", "M"], "has_missing": True}},
    {"name": "count", "type": "count", "domain": {"has_missing": False}},
]


def test_cells_outside_the_domain_are_counted(tmp_path: Path) -> None:
    """Numbers must be middles of cells, categories listed ones, noisy counts whole; a missing column fails."""
    path = tmp_path / "t.parquet"
    table = pa.table({"age": [1.0, 1.5, 11.0, None], "sex": ["F", "X", None, "M"], "count": [1.0, -1.0, 0.5, 2.0]})
    pq.write_table(table, path)
    domains = {str(one["name"]): one for one in COLUMNS}
    found = {check.name: check.observed for check in domain_checks(path, domains)}
    assert found == {"domain:age": 3, "domain:sex": 1, "domain:count": 1}
    pq.write_table(table.drop_columns(["age"]), path)
    assert not next(iter(domain_checks(path, domains))).passed
