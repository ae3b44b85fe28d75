"""The tables and policies of the golden releases: simulated, small, and the same on every machine.

Nothing here draws from a library's distributions: the customers are anonkit's own simulation, the awkward table comes
from a linear congruential generator written below.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit import datasets

CUSTOMERS = datasets.bank_customers(300, seed=7)
"""300 customers: six enumerated columns, five numeric ones."""

NAMED = datasets.bank_customers(240, seed=8, rows_per_customer=2)
"""120 people with two rows each, distinguished by `customer_id`."""

CUSTOMERS_POLICY = datasets.bank_customers_policy_toml()
"""Every domain declared."""

_UNIT = 'customer_id = { role = "unit", type = "string" }\n'
NAMED_POLICY = CUSTOMERS_POLICY.replace("[columns]\n", "[columns]\n" + _UNIT)
"""The same with people."""

_ZIPS = ("01067", "01069", "01097", "10115", "10117", "10119", "80331", "80333")
_CITIES = ("Berlin", "berlin", " Dresden", 'Müchen, "Süd"', "Saint\u2011Denis", "😀", "NA", "0")
_NOTES = ("", "=1+1", "line\none", "tab\there", "né", "01234", "1.0", "null")
_ILLS = ("flu", "cold", "asthma", "gout", "none")
_JOBS = ("cook", "nurse", "driver", "clerk")


class _Draws:
    """A linear congruential generator modulo 2**64 (Knuth's MMIX constants), its upper 31 bits."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, n: int) -> int:
        """The next number in [0, n)."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self._state >> 33) % n

    def of(self, values: Sequence[Any]) -> Any:
        """One of the values."""
        return values[self.below(len(values))]


def awkward_rows(n_rows: int, seed: int) -> list[dict[str, Any]]:
    """People with one to three rows each, holes in every kind of column, cells that are odd as text."""
    draws, rows, person = _Draws(seed), [], 0
    while len(rows) < n_rows:
        person += 1
        zip_code, age, job = draws.of(_ZIPS), 18 + draws.below(60), draws.of(_JOBS)
        for _ in range(min(1 + draws.below(3), n_rows - len(rows))):
            ill = draws.below(len(_ILLS))
            rows.append(
                {
                    "person": f"P{person:03d}",
                    "name": f"Somebody {person} the {draws.below(99)}th",
                    "age": None if draws.below(12) == 0 else age,
                    "zip": None if draws.below(20) == 0 else zip_code,
                    "height": None if draws.below(10) == 0 else 150 + draws.below(400) / 8,
                    "city": None if draws.below(9) == 0 else draws.of(_CITIES),
                    "job": "astronaut" if draws.below(40) == 0 else job,
                    "since": None if draws.below(8) == 0 else datetime.date(2015, 1, 1 + draws.below(31)),
                    "member": None if draws.below(15) == 0 else draws.below(2) == 1,
                    "saved": None if draws.below(7) == 0 else Decimal(draws.below(90_000)) / 100,
                    "note": draws.of(_NOTES),
                    "illness": None if draws.below(11) == 0 else _ILLS[ill],
                    "risk": ("low", "mid", "high")[min(2, (ill + age // 20 + draws.below(3)) // 3)],
                }
            )
    return rows


AWKWARD_SCHEMA = pa.schema(
    {
        "person": pa.string(),
        "name": pa.string(),
        "age": pa.int16(),
        "zip": pa.string(),
        "height": pa.float64(),
        "city": pa.string(),
        "job": pa.dictionary(pa.int8(), pa.string()),
        "since": pa.date32(),
        "member": pa.bool_(),
        "saved": pa.decimal128(9, 2),
        "note": pa.large_string(),
        "illness": pa.string(),
        "risk": pa.string(),
    }
)
AWKWARD = pa.Table.from_pylist(awkward_rows(240, 11), schema=AWKWARD_SCHEMA)
"""Texts, integers, floats, decimals, days and truth values, all with holes."""
NEXT_AWKWARD = pa.Table.from_pylist(awkward_rows(240, 12), schema=AWKWARD_SCHEMA)
"""The next batch of the same people's table."""

_TREE = ", ".join(f'["{code}", "{code[:3]}**", "{code[:1]}****", "*"]' for code in _ZIPS)
AWKWARD_POLICY = f"""
dataset = "awkward"
declared_by = "the golden test"
joint_k = 1
[columns]
person = {{ role = "unit" }}
name = {{ role = "identifier" }}
age = {{ role = "quasi_identifier", ladder = [5, 20], missing = "category" }}
zip = {{ role = "quasi_identifier", tree = [{_TREE}] }}
height = {{ role = "quasi_identifier" }}
city = {{ role = "quasi_identifier" }}
job = {{ role = "quasi_identifier" }}
since = {{ role = "quasi_identifier" }}
member = {{ role = "quasi_identifier" }}
saved = {{ role = "quasi_identifier", missing = "drop" }}
note = {{ role = "insensitive" }}
illness = {{ role = "sensitive", missing = "category" }}
risk = {{ role = "target" }}
"""
"""Hierarchies, people, holes that count and holes that drop a row, a column left as it is, a secret."""

ANY_PURPOSE_POLICY = AWKWARD_POLICY.replace("[columns]", "target = false\n[columns]").replace(
    'risk = { role = "target" }', 'risk = { role = "insensitive" }'
)
"""The same for no target: these columns predict little of it."""

DOMAINS_POLICY = f"""
dataset = "awkward"
declared_by = "the golden test"
[columns]
person = {{ role = "unit" }}
name = {{ role = "identifier" }}
age = {{ role = "quasi_identifier", bounds = [20, 70] }}
zip = {{ role = "quasi_identifier", tree = [{_TREE}] }}
height = {{ role = "quasi_identifier", bounds = [140, 210], missing = "first" }}
city = {{ role = "insensitive" }}
job = {{ role = "quasi_identifier", categories = ["cook", "nurse", "driver", "clerk"] }}
since = {{ role = "insensitive" }}
member = {{ role = "quasi_identifier", categories = ["false", "true"] }}
saved = {{ role = "quasi_identifier", bounds = [0, 800], outside = "missing" }}
note = {{ role = "insensitive" }}
illness = {{ role = "sensitive", categories = ["none", "cold", "flu", "asthma", "gout"], missing = "first" }}
risk = {{ role = "target", categories = ["low", "mid", "high"] }}
"""
"""Public domains for the same table, narrower than its cells: people stay the unit."""
UNTARGETED_POLICY = DOMAINS_POLICY.replace('"target"', '"sensitive"').replace("[columns]", "target = false\n[columns]")
"""The same without a target."""
ROWS_POLICY = DOMAINS_POLICY.replace('"unit"', '"identifier"')
"""The same with rows as the unit of privacy."""


def _interacting_rows(n_rows: int, seed: int) -> list[dict[str, Any]]:
    """People whose answer depends on two things together, and on neither alone."""
    draws, rows = _Draws(seed), []
    for _ in range(n_rows):
        side, height, note = draws.of("abc"), draws.below(801) / 100, draws.of("xy")
        yes = (side == "b") ^ (int(height) % 4 < 2) ^ (draws.below(12) == 0)
        rows.append({"side": side, "height": height, "note": note, "answer": "yes" if yes else "no"})
    return rows


INTERACTING = pa.Table.from_pylist(_interacting_rows(2_000, 3))
INTERACTING_POLICY = """
[columns]
side = { categories = ["a", "b", "c"] }
height = { bounds = [0.0, 8.0] }
note = { categories = ["x", "y"] }
answer = { role = "target", categories = ["no", "yes"] }
"""


def _parities(n_rows: int, seed: int) -> list[dict[str, Any]]:
    """Answers of which three together say what is wanted, and no two do."""
    draws, rows = _Draws(seed), []
    for _ in range(n_rows):
        first, other, third = (draws.below(2) for _ in range(3))
        rows.append(
            {
                "first": str(first), "age": float(draws.below(8)), "second": str(other), "third": str(third),
                "wanted": ("no", "yes")[first ^ other ^ third],
            }
        )  # fmt: skip
    return rows


PARITIES = pa.Table.from_pylist(_parities(600, 3))
PARITIES_POLICY = """
[columns]
first = { categories = ["0", "1"] }
age = { bounds = [0.0, 8.0] }
second = { categories = ["0", "1"] }
third = { categories = ["0", "1"] }
wanted = { role = "target", categories = ["no", "yes"] }
"""


def write_policy(folder: Path, text: str) -> Path:
    """Write a policy beside the sources."""
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def write_csv(folder: Path, table: pa.Table) -> Path:
    """Write a table as CSV with the standard library's writer; None is the empty cell."""
    path = folder / "source.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(row.values() for row in table.to_pylist())
    return path


def write_parquet(folder: Path, table: pa.Table) -> Path:
    """Write a table as one Parquet file with several row groups."""
    path = folder / "source.parquet"
    pq.write_table(table, path, row_group_size=64)
    return path
