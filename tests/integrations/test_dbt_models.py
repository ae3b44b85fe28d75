"""The results of the Python models of dbt, without dbt: dbt itself runs in an environment of its own."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from anonkit.errors import GuaranteeError, ParameterError
from anonkit.integrations.dbt import release_model, validate_model

POLICY = """
[columns]
age = { bounds = [18, 90] }
bought = { categories = ["no", "yes"], role = "target" }
"""


def test_a_relation_is_released_and_used_again(tmp_path: Path) -> None:
    """The rows of the database are those of the files, in the second run too, and the checks are a table."""
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    asked = {"output": tmp_path / "out.parquet", "method": "dp-nb", "epsilon": 1.0, "policy": tmp_path / "policy.toml"}
    with duckdb.connect() as connection:
        query = "SELECT 20 + i % 60 AS age, CASE i % 2 WHEN 0 THEN 'no' ELSE 'yes' END AS bought FROM range(90) t(i)"
        first = release_model(connection.sql(query), **asked)
        second = release_model(connection.sql(query), **asked)
    assert first.equals(second)
    assert first.num_rows > 20
    checks = validate_model(tmp_path / "out.parquet")
    assert checks.column_names == ["name", "passed"]
    assert all(checks["passed"].to_pylist())
    (tmp_path / "out.report.html").write_text("edited", encoding="utf-8")
    with pytest.raises(GuaranteeError):
        validate_model(tmp_path / "out.parquet")


def test_a_model_without_a_source_is_refused(tmp_path: Path) -> None:
    """A model that reads nothing says so before it releases."""
    with pytest.raises(ParameterError, match="needs what it releases"):
        release_model(None, output=tmp_path / "out.parquet", method="dp-nb")
    assert list(tmp_path.iterdir()) == []
