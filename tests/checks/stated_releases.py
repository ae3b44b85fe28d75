"""Small releases by noise statements of methods that no package has: every query, law and kind of table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from checks.forgeries import Files

import anonkit
from anonkit.dp_trees.stated.stated_method import StatedMethod
from anonkit.parameters import parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.published.statements.noise_statement import (
    EXPONENTIAL,
    CellRows,
    Count,
    ModeScore,
    RankScore,
    StatedDraw,
    Statement,
    Sum,
    ValueLines,
)

CELLS, LINES = "cells", "lines"
POLICY: Mapping[str, Any] = {
    "columns": {
        "age": {"role": "quasi_identifier", "bounds": [18, 78]},
        "sex": {"role": "quasi_identifier", "categories": ["F", "M"], "missing": "first"},
        "job": {"role": "sensitive", "categories": ["a", "b", "c"]},
        "person": {"role": "unit"},
        "note": {"role": "insensitive"},
        "y": {"role": "target", "categories": ["no", "yes"]},
    }
}


@dataclass(frozen=True, kw_only=True)
class RowsByCells(StatedMethod):
    """Rows of a table of all columns; a draw that is named like a key of the files; draws on parts of the rows."""

    name: ClassVar[str] = "rows-by-cells"
    paper: ClassVar[str] = "none: a test"
    summary: ClassVar[str] = "rows of a noisy table"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED

    bins: int = parameter(default=3, range="[2, 64]", help="bins of a number")

    def statement(self, policy: Policy) -> Statement:
        """Return tables of all rows and of the rows of each sex."""
        columns = self.columns(policy, cells=self.bins)
        every, quarter = tuple(column.name for column in columns), Fraction(1, 4)
        return self.stated(
            columns,
            (
                self.draw("values", Count(by=every), columns, share=2 * quarter),
                self.draw("choices", Count(by=("job", "y")), columns, share=quarter),
                *self._of_each_sex(columns, quarter),
            ),
            CellRows(of="values"),
        )

    def _of_each_sex(self, columns: Any, share: Fraction) -> Iterator[StatedDraw]:
        for code in (0, 1):
            yield self.draw(f"age where {code}", Sum(of="age"), columns, share=share, where={"sex": code})


@dataclass(frozen=True, kw_only=True)
class LinesOfValues(StatedMethod):
    """One figure of each kind, by both laws of choice, of all rows and of parts."""

    name: ClassVar[str] = "lines-of-values"
    paper: ClassVar[str] = "none: a test"
    summary: ClassVar[str] = "figures with noise"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    publishes_rows: ClassVar[bool] = False

    def statement(self, policy: Policy) -> Statement:
        """Return draws on numbers and categories."""
        columns, share = self.columns(policy, cells=6), Fraction(1, 7)
        median = RankScore(of="age", numerator=1, denominator=2)
        return self.stated(
            columns,
            (
                self.draw("rows", Count(), columns, share=share),
                self.draw("rows by age", Count(by=("age", "sex")), columns, share=share),
                self.draw("rows by sex", Count(by=("sex", "age")), columns, share=share),
                self.draw("ages", Sum(of="age", by=("sex",)), columns, share=share),
                self.draw("upper quartile", RankScore(of="age", numerator=3, denominator=4), columns, share=share),
                self.draw("median of no", median, columns, share=share, law=EXPONENTIAL, where={"y": 0}),
                self.draw("median of yes", median, columns, share=share, where={"y": 1}),
                self.draw("job", ModeScore(of="job"), columns, share=share, law=EXPONENTIAL),
            ),
            ValueLines(),
        )


METHODS: Mapping[str, type[StatedMethod]] = {CELLS: RowsByCells, LINES: LinesOfValues}


def people(n: int = 150) -> pa.Table:
    """Return people with two rows each, some cells of whom are missing."""
    rng = np.random.default_rng(3)
    job = rng.choice(np.array(["a", "b", "c", None], dtype=object), n)
    return pa.table(
        {
            "age": pa.array([None if at % 17 == 0 else int(age) for at, age in enumerate(rng.integers(18, 78, n))]),
            "sex": rng.choice(["F", "M"], n),
            "job": pa.array(job.tolist(), pa.string()),
            "person": [f"p{at // 2}" for at in range(n)],
            "note": [f"note {at}" for at in range(n)],
            "y": rng.choice(["no", "yes"], n),
        }
    )


@cache
def _made(kind: str, parameters: tuple[tuple[str, Any], ...]) -> Files:
    method = METHODS[kind](**{"epsilon": 2.0, **dict(parameters)})
    with TemporaryDirectory() as folder:
        output = Path(folder) / "out.parquet"
        anonkit.release(people(), method=method, policy=dict(POLICY), output=output, ledger=None)
        return Files.read(output)


def made(kind: str, **parameters: Any) -> Files:
    """Return a release in memory; each is made once."""
    return _made(kind, tuple(sorted(parameters.items())))
