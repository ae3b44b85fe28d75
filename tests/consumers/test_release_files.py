"""Files a receiver opens: true tables in any text form, numbers by their written form, and answers taken for truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from anonkit.consumers.column_statistics import ClassStatistics, Columns
from anonkit.consumers.release_files import in_written_form, looks_released, read_true_table
from anonkit.domains.number_bins import Categories
from anonkit.errors import SourceError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable


def test_a_text_file_is_read_by_the_types_of_the_params(tmp_path: Path) -> None:
    """Codes stay texts; an empty cell is missing."""
    path = tmp_path / "test.tsv"
    path.write_text("zip\tage\n01234\t30\n\t\n")
    table = read_true_table(path, {"zip": pa.string(), "age": pa.float64()})
    assert table.column("zip").to_pylist() == ["01234", None]
    assert table.column("age").to_pylist() == [30.0, None]


@pytest.mark.parametrize(
    ("name", "content"), [("test.txt", "a\n1\n"), ("test.parquet", "no parquet"), ("absent.csv", None)]
)
def test_what_is_no_table_is_refused(tmp_path: Path, name: str, content: str | None) -> None:
    """Another kind, a damaged file, none."""
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(SourceError):
        read_true_table(path, {})


def test_without_a_written_form_a_table_is_left_as_it_is() -> None:
    """The very same object."""
    table = pa.table({"a": ["1,5"]})
    assert in_written_form(table, {}) is table


def test_answers_are_distinguished_from_true_rows() -> None:
    """Rows of the release look released, rows of the population do not; of a few rows nothing is said."""
    rng = np.random.default_rng(1)
    domain = Categories(values=("a", "b", "c"))
    channel = RandomizedResponse.equal(3, 0.4)
    table = PublishedTable(target=None, attributes=(PublishedAttribute(name="x", domain=domain, mechanism=channel),))

    def true(n: int) -> np.ndarray:
        return rng.choice(3, n, p=[0.8, 0.15, 0.05])

    truth = true(5_000)
    answers = np.where(rng.random(5_000) < 0.4, truth, rng.integers(0, 3, 5_000))
    values = np.array(["a", "b", "c"])
    released = pa.table({"x": values[answers]})
    statistics = ClassStatistics(table)
    statistics.add(Columns(released))
    assert looks_released(statistics, Columns(released.slice(0, 2_000)))
    assert not looks_released(statistics, Columns(pa.table({"x": values[true(2_000)]})))
    assert not looks_released(statistics, Columns(released.slice(0, 20)))
