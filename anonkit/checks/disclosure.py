# SPDX-License-Identifier: Apache-2.0
"""Disclosure risk of a table as it lies there: class sizes, l, t and the risks that follow, counted in SQL.

The methods count with arrays of codes; this module counts the released cells with DuckDB and shares nothing with
them, so that a mistake in one is seen by the other. Missing is a value like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.checks.diversity import NOTHING, Numbers, worst_class
from anonkit.errors import EngineError
from anonkit.private_files import PrivateFolder

_MEMORY = "1GB"
"""What DuckDB may hold before it spills, to a private folder."""
_PAIRS = 1 << 20
"""Counts of (class, value) that are looked at together."""


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """What a recount of a table found."""

    rows: int
    classes: int
    k: int
    """Rows in the smallest equivalence class; 0 for an empty table."""
    people: int | None
    """Distinct units in the smallest class, when a unit column was given."""
    class_sizes: tuple[tuple[int, int], ...]
    """(rows in the class, number of such classes), ascending."""
    sensitive: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Per sensitive attribute: l, entropy_l, t, alpha, beta, recursive_c_<l>: the worst class counts."""

    def rows_below(self, k: int) -> int:
        """Rows in classes smaller than k."""
        return sum(size * classes for size, classes in self.class_sizes if size < k)

    def to_dict(self, threshold: float) -> dict[str, Any]:
        """Return the report's `disclosure_risk` block; records above `threshold` are at risk.

        The release is taken as the population (no outside table), so journalist risk equals prosecutor risk:
        an upper bound.
        """
        mean = self.classes / self.rows if self.rows else 0.0
        highest = 1 / self.k if self.k else 0.0
        at_risk = sum(n * c for n, c in self.class_sizes if 1 / n > threshold) / self.rows if self.rows else 0.0
        attacker = {"max": highest, "mean": mean, "share_at_risk": at_risk, "risk_threshold": threshold}
        return {
            "basis": "sample_upper_bound",
            "prosecutor": attacker,
            "journalist": dict(attacker),
            "marketer": {"success_rate": mean},
            "uniques": sum(c for n, c in self.class_sizes if n == 1),
            "class_sizes": [{"size": n, "classes": c, "records": n * c} for n, c in self.class_sizes],
            "classes": self.classes,
            "k_anonymity": {"k": self.k, "people": self.people},
            "l_diversity": {
                name: {
                    key: found[key] for key in ("l", "entropy_l", *(k for k in found if k.startswith("recursive_c_")))
                }
                for name, found in self.sensitive.items()
            },
            "t_closeness": {name: {"t": found["t"], "alpha": found["alpha"]} for name, found in self.sensitive.items()},
        }


def measure(
    table: str | Path | pa.Table,
    quasi_identifiers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    unit: str | None = None,
    recursive: Sequence[int] = (2, 3),
) -> Disclosure:
    """Recount a table.

    Parameters
    ----------
    table : path, or Arrow table
        Parquet file or folder, CSV, TSV or JSON Lines (also compressed) as DuckDB reads them.
    quasi_identifiers : sequence of str
        Columns that make up the equivalence classes; none means that all rows are one class.
    sensitive : sequence of str
        Columns whose diversity inside the classes is measured. Numbers use the ordered distance for t, other
        types the equal distance (Li et al. 2007). A quasi-identifier may be listed; it is constant in each class.
    unit : str, optional
        Column whose distinct values are people.
    recursive : sequence of int
        Values of l for which the smallest c of recursive (c, l)-diversity is measured.
    """
    with scanned(table) as (connection, source):
        _number_classes(connection, source, quasi_identifiers, sensitive, unit)
        sizes, people = _sizes(connection, unit is not None)
        found = {name: _sensitive(connection, f"s{at}", recursive) for at, name in enumerate(sensitive)}
    return Disclosure(
        rows=sum(n * c for n, c in sizes),
        classes=sum(c for _, c in sizes),
        k=sizes[0][0] if sizes else 0,
        people=people,
        class_sizes=tuple(sizes),
        sensitive=found,
    )


@contextmanager
def scanned(table: str | Path | pa.Table) -> Iterator[tuple[Any, str]]:
    """Open a table in DuckDB and yield the connection and what stands in FROM for it.

    Raises
    ------
    EngineError
        It cannot be read or counted.
    """
    import duckdb

    private = PrivateFolder()
    settings = {"memory_limit": _MEMORY, "temp_directory": str(private.path), "preserve_insertion_order": "false"}
    connection = duckdb.connect(":memory:", config=settings)
    try:
        yield connection, _scan(connection, table)
    except duckdb.Error:
        raise EngineError("recounting the table failed", "is every named column in it?") from None
    finally:
        connection.close()
        private.close()


def _scan(connection: Any, table: str | Path | pa.Table) -> str:
    """Return what stands in FROM for a table; text files are read with DuckDB's own reader, all rows looked at."""
    if isinstance(table, pa.Table):
        connection.register("anonkit_table", table)
        return "anonkit_table"
    path = Path(table)
    pattern = str(path / "**" / "*.parquet") if path.is_dir() else str(path)
    literal = "'" + pattern.replace("'", "''") + "'"
    suffixes = {suffix.lower() for suffix in path.suffixes}
    if suffixes & {".csv", ".tsv", ".tab", ".txt"}:
        return f"read_csv({literal}, header = true, sample_size = -1)"
    if suffixes & {".json", ".jsonl", ".ndjson"}:
        return f"read_json({literal}, format = 'newline_delimited', sample_size = -1)"
    return f"read_parquet({literal}, hive_partitioning = {str(path.is_dir()).lower()})"


def columns_of(table: str | Path | pa.Table) -> list[str]:
    """Return the column names of a table as `measure` sees them.

    Raises
    ------
    EngineError
        It cannot be read.
    """
    import duckdb

    with duckdb.connect(":memory:") as connection:
        try:
            return [str(name) for name in connection.sql(f"SELECT * FROM {_scan(connection, table)} LIMIT 0").columns]
        except duckdb.Error:
            raise EngineError(
                "the table cannot be read", "CSV, TSV, JSON Lines or Parquet, by the name of the file"
            ) from None


def quoted(name: str) -> str:
    """Return a column's name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def _number_classes(
    connection: Any, source: str, quasi_identifiers: Sequence[str], sensitive: Sequence[str], unit: str | None
) -> None:
    """Make the tables `classes` (n rows, people) and `numbered` (class, s0, s1, …: the sensitive cells of each row)."""
    keys = ", ".join(f"{quoted(name)} AS q{at}" for at, name in enumerate(quasi_identifiers))
    people = f"count(DISTINCT {quoted(unit)})" if unit else "NULL"
    connection.execute(
        "CREATE TEMP TABLE classes AS SELECT (row_number() OVER () - 1)::BIGINT AS class, * FROM ("
        f"SELECT {keys + ', ' if keys else ''}count(*) AS n, {people} AS people FROM {source}"
        f"{' GROUP BY ALL' if keys else ''}) WHERE n > 0"
    )
    if not sensitive:
        return
    cells = ", ".join(f"t.{quoted(name)} AS s{at}" for at, name in enumerate(sensitive))
    same = " AND ".join(
        f"t.{quoted(name)} IS NOT DISTINCT FROM classes.q{at}" for at, name in enumerate(quasi_identifiers)
    )
    connection.execute(
        f"CREATE TEMP TABLE numbered AS SELECT class, {cells} FROM {source} AS t JOIN classes ON {same or 'true'}"
    )


def _sizes(connection: Any, with_people: bool) -> tuple[list[tuple[int, int]], int | None]:
    rows = connection.execute("SELECT n, count(*), min(people) FROM classes GROUP BY n ORDER BY n").fetchall()
    fewest = min((row[2] for row in rows), default=0) if with_people else None
    return [(int(n), int(classes)) for n, classes, _ in rows], fewest


def _sensitive(connection: Any, column: str, recursive: Sequence[int]) -> dict[str, float]:
    """Return how diverse a column of `numbered` is in the worst class."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE cells AS SELECT class, {column} AS s, count(*) AS n FROM numbered GROUP BY ALL"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE domain AS SELECT s, n, row_number() OVER (ORDER BY s NULLS LAST) - 1 AS value "
        "FROM (SELECT s, sum(n)::DOUBLE AS n FROM cells GROUP BY s)"
    )
    kind = connection.execute("SELECT typeof(s) FROM domain LIMIT 1").fetchone()
    if kind is None:
        return dict(NOTHING)
    ordered = kind[0] not in ("VARCHAR", "BOOLEAN") and not kind[0].startswith("ENUM")
    overall = connection.execute("SELECT n FROM domain ORDER BY value").fetchnumpy()["n"]
    pairs = connection.sql(
        "SELECT class, value, cells.n::DOUBLE AS n FROM cells JOIN domain ON cells.s IS NOT DISTINCT FROM domain.s "
        "ORDER BY class, value"
    ).to_arrow_reader(_PAIRS)
    return worst_class(_whole_classes(pairs), np.asarray(overall), ordered, recursive)


def _whole_classes(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Yield sorted pairs in parts that end where a class ends."""
    left: pa.Table | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        left = table if left is None else pa.concat_tables([left, table])
        classes = left.column("class").to_numpy()
        complete = int(np.searchsorted(classes, classes[-1]))
        if complete:
            yield _arrays(left.slice(0, complete))
            left = left.slice(complete)
    if left is not None and left.num_rows:
        yield _arrays(left)


def _arrays(pairs: pa.Table) -> tuple[Numbers, Numbers, Numbers]:
    classes, values, counts = (column.to_numpy() for column in pairs.columns)
    return classes, values, counts
