"""The effort of the detector: linear in the length of cells, and a small part of a release."""

from __future__ import annotations

import time

import pytest

import anonkit
from anonkit.datasets import bank_customers
from anonkit.domains.coded_columns import CodedColumn
from anonkit.drafting.identifying.verdicts import evidence_of, verdict_of
from anonkit.drafting.profiling import judge_undeclared
from anonkit.engines import open_engine
from anonkit.policy.declaration import Policy

LONG_CELLS = {
    "letters": "a",
    "capitals": "Ab ",
    "digits": "1",
    "digits in groups": "1 ",
    "thousands": "123,",
    "points": "a.",
    "dashes": "a-",
    "at signs": "a@",
    "domains": "@a.b",
    "colons": "a:",
    "hex": "0a",
    "blanks": " .",
    "initials": "A. ",
    "brackets": "(0) ",
    "titles": "Mr ",
    "durations": "1Y",
}


def seconds(cell: str, length: int) -> float:
    """CPU seconds to judge forty cells of a length, each with another end; the best of three."""
    long = (cell * (length // len(cell) + 1))[:length]
    values = [f"{long}{at}" for at in range(40)]
    column = CodedColumn(name="x", codes=_codes(40), values=values, ordered=False)
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        verdict_of(column)
        best = min(best, time.process_time() - started)
    return best


def _codes(rows: int):  # type: ignore[no-untyped-def]
    import numpy as np

    return np.arange(rows, dtype=np.int32)


@pytest.mark.quick_cases("digits", "domains", "titles", "letters", "dashes")
@pytest.mark.parametrize("kind", LONG_CELLS)
def test_judging_is_linear_in_the_length_of_cells(kind: str) -> None:
    """Sixteen times the letters take at most forty times as long: a quadratic pattern would take 256 times."""
    short, long = seconds(LONG_CELLS[kind], 1_000), seconds(LONG_CELLS[kind], 16_000)

    assert long <= 40 * max(short, 0.002)


@pytest.mark.slow
def test_judging_takes_at_most_a_tenth_of_a_release() -> None:
    """CPU seconds, on a table with a column that identifies; the best of two."""
    table = bank_customers(1_000, customer_id=True, rows_per_customer=3)
    release, judging = float("inf"), float("inf")
    for _ in range(2):
        started = time.process_time()
        anonkit.release(table, method="mondrian", k=10)
        release = min(release, time.process_time() - started)
        with open_engine("local") as engine:
            source = engine.scan(table, Policy())
            columns = [column for name in table.column_names for column in engine.encode(source, [name])]
            started = time.process_time()
            for column in columns:
                verdict_of(column)
                evidence_of(column)
            judging = min(judging, time.process_time() - started)
            assert judge_undeclared(source, table.column_names, engine).taken

    assert judging <= 0.1 * release
