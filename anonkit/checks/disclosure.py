# SPDX-License-Identifier: Apache-2.0
"""Disclosure risk of a table as it lies there: class sizes, l, t and the risks that follow, counted in SQL.

The methods count with arrays of codes; this module counts the released cells with DuckDB and shares nothing with
them, so that a mistake in one is seen by the other. Missing is a value like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.errors import EngineError

_CELLS = 4_000_000


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
        keys = ", ".join(map(quoted, quasi_identifiers))
        sizes, people = _sizes(connection, source, keys, unit)
        found = {name: _sensitive(connection, source, quasi_identifiers, name, recursive) for name in sensitive}
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

    connection = duckdb.connect(":memory:")
    try:
        yield connection, _scan(connection, table)
    except duckdb.Error:
        raise EngineError("recounting the table failed", "is every named column in it?") from None
    finally:
        connection.close()


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


def _sizes(connection: Any, source: str, keys: str, unit: str | None) -> tuple[list[tuple[int, int]], int | None]:
    people = f"count(DISTINCT {quoted(unit)})" if unit else "NULL"
    grouped = f" GROUP BY {keys}" if keys else ""
    rows = connection.execute(
        f"SELECT n, count(*), min(people) FROM (SELECT count(*) AS n, {people} AS people FROM {source}{grouped}) "
        "WHERE n > 0 GROUP BY n ORDER BY n"
    ).fetchall()
    fewest = min((row[2] for row in rows), default=0) if unit else None
    return [(int(n), int(classes)) for n, classes, _ in rows], fewest


def _sensitive(
    connection: Any, source: str, quasi_identifiers: Sequence[str], name: str, recursive: Sequence[int]
) -> dict[str, float]:
    keys = ", ".join(f"{quoted(key)} AS q{at}" for at, key in enumerate(quasi_identifiers))
    numbered = ", ".join(f"q{at}" for at in range(len(quasi_identifiers)))
    counts = connection.execute(
        f"WITH cells AS (SELECT {keys + ', ' if keys else ''}{quoted(name)} AS s, count(*) AS n "
        f"FROM {source} GROUP BY ALL) "
        f"SELECT {f'dense_rank() OVER (ORDER BY {numbered}) - 1' if keys else '0'} AS class, "
        "dense_rank() OVER (ORDER BY s NULLS LAST) - 1 AS value, n, typeof(s) AS kind FROM cells"
    ).fetchnumpy()
    if counts["n"].size == 0:
        return {"l": 0.0, "entropy_l": 0.0, "t": 0.0, "alpha": 0.0, "beta": 0.0}
    ordered = str(counts["kind"][0]) not in ("VARCHAR", "BOOLEAN") and not str(counts["kind"][0]).startswith("ENUM")
    return diversity_of(
        np.asarray(counts["class"], dtype=np.int64),
        np.asarray(counts["value"], dtype=np.int64),
        np.asarray(counts["n"], dtype=np.float64),
        ordered,
        recursive,
    )


def diversity_of(
    classes: np.ndarray[Any, Any],
    values: np.ndarray[Any, Any],
    counts: np.ndarray[Any, Any],
    ordered: bool,
    recursive: Sequence[int] = (2, 3),
) -> dict[str, float]:
    """Return what the worst class of a table has, from counts of (class, value), each pair once.

    Parameters
    ----------
    classes, values : array of int, shape (n_pairs,)
        Dense codes; values in their order when `ordered`.
    counts : array, shape (n_pairs,)
        Rows, above 0.
    ordered : bool
        True: t is the ordered distance, else the equal one.
    recursive : sequence of int
        Values of l for recursive (c, l)-diversity.
    """
    order = np.lexsort((values, classes))
    classes, values, counts = classes[order], values[order], counts[order]
    n_classes, n_values = int(classes[-1]) + 1, int(values.max()) + 1
    size = np.bincount(classes, counts, minlength=n_classes)
    share = counts / size[classes]
    overall = np.bincount(values, counts, minlength=n_values) / counts.sum()
    out = {
        "l": float(np.bincount(classes, minlength=n_classes).min()),
        "entropy_l": float(np.exp(np.bincount(classes, -share * np.log(share), minlength=n_classes)).min()),
        "alpha": float(share.max()),
        "beta": float((share / overall[values]).max()) - 1,
        "t": _earth_mover(classes, values, share, overall, n_classes)
        if ordered
        else _variation(classes, values, share, overall),
    }
    ranked = np.lexsort((-counts, classes))
    place = np.arange(counts.size) - np.searchsorted(classes, np.arange(n_classes))[classes[ranked]]
    top = counts[ranked][place == 0]
    for l in recursive:  # noqa: E741
        tail = np.bincount(classes[ranked], counts[ranked] * (place >= l - 1), minlength=n_classes)
        with np.errstate(divide="ignore"):
            worst = float(np.max(np.where(tail > 0, top / np.maximum(tail, 1e-300), np.inf)))
        if np.isfinite(worst):
            out[f"recursive_c_{l}"] = worst
    return out


def _variation(
    classes: np.ndarray[Any, Any],
    values: np.ndarray[Any, Any],
    share: np.ndarray[Any, Any],
    overall: np.ndarray[Any, Any],
) -> float:
    q = overall[values]
    apart = np.bincount(classes, np.abs(share - q)) + 1 - np.bincount(classes, q)
    return float(apart.max() / 2)


def _earth_mover(
    classes: np.ndarray[Any, Any],
    values: np.ndarray[Any, Any],
    share: np.ndarray[Any, Any],
    overall: np.ndarray[Any, Any],
    n_classes: int,
) -> float:
    n_values, worst = overall.size, 0.0
    step = max(1, _CELLS // n_values)
    for start in range(0, n_classes, step):
        low, high = np.searchsorted(classes, (start, start + step))
        dense = np.zeros((min(step, n_classes - start), n_values))
        dense[classes[low:high] - start, values[low:high]] = share[low:high]
        moved = np.abs(np.cumsum(dense - overall, axis=1)).sum(axis=1) / max(n_values - 1, 1)
        worst = max(worst, float(moved.max()))
    return worst
