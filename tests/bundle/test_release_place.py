"""One argument states the place of the files of a release."""

from __future__ import annotations

import pytest

from anonkit.bundle.release_place import Place
from anonkit.errors import ParameterError


@pytest.mark.parametrize("output", ["out.csv", "out", "out.txt"])
def test_an_output_of_another_name_is_refused(output: str) -> None:
    """A release is a Parquet file with sidecars, or a folder."""
    with pytest.raises(ParameterError, match=r"must end in \.parquet"):
        Place.of(output)


def test_a_copy_for_duckdb_is_refused_with_the_reason() -> None:
    """Receivers validate copies of strangers, and DuckDB expects its files from trusted writers; others are taken."""
    with pytest.raises(ParameterError, match=r"must end in \.parquet") as refused:
        Place.asked("out.duckdb")
    assert "anonkit export out.parquet out.duckdb" in str(refused.value.hint)
    assert "trusted writers" in str(refused.value.hint)
    assert Place.asked("out.sqlite")[1] == "sqlite"
