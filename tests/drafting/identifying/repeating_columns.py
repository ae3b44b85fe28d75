"""The shared parts of the two generators of tables: rows of people in runs, and columns drawn once a person.

Rules and constants of the detector were chosen on `tables_to_choose`, and it is reported on `tables_to_report`: their
words, countries, forms and tables differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Draw = Callable[[random.Random], Any]


def listed(text: str) -> list[str]:
    """Return the strings between the bars."""
    return text.split("|")


def digits(r: random.Random, n: int) -> str:
    """Digits, of which the first is no zero."""
    return str(r.randrange(1, 10)) + "".join(str(r.randrange(10)) for _ in range(n - 1))


def of_people(draw: Draw, *, seed: int, people: int = 300, runs: tuple[int, int] = (6, 25)) -> list[Any]:
    """A cell for each person, repeated in all rows of the person: 6 to 25 visits each, in random order."""
    r = random.Random(seed)
    rows = [cell for cell in [draw(r) for _ in range(people)] for _ in range(r.randint(*runs))]
    r.shuffle(rows)
    return rows


def drawn(draw: Draw, *, seed: int, rows: int) -> list[Any]:
    """Every row drawn by itself."""
    r = random.Random(seed)
    return [draw(r) for _ in range(rows)]


def picked(values: Sequence[Any]) -> Draw:
    """Some values are more common than others, as in most tables."""
    weights = [1 / (2 + at) for at in range(len(values))]
    return lambda r: r.choices(values, weights)[0]


def tables(kinds: Mapping[str, Draw], *, count: int, width: int, seed: int) -> dict[str, dict[str, list[Any]]]:
    """Tables of columns that are used in turn, each of 400 to 4,000 rows: visits, sales or measurements.

    A column that comes again is drawn anew, and has another number of rows.
    """
    r = random.Random(seed)
    names, at, made = list(kinds), 0, {}
    for number in range(count):
        rows = r.choice((400, 900, 2_000, 4_000))
        columns = {}
        for _ in range(width):
            name = names[at % len(names)]
            columns[name.split("|")[0]] = drawn(kinds[name], seed=seed + at, rows=rows)
            at += 1
        made[f"table {number}"] = columns
    return made
