# SPDX-License-Identifier: Apache-2.0
"""Questions to the mixture of a release by `dp-marginals`: a column to predict, rows to draw, tables, conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from anonkit.consumers.whole_files import write_whole
from anonkit.errors import ParameterError, option
from anonkit.published.quoted_names import first_name, names_of

if TYPE_CHECKING:
    from anonkit.consumers.marginal_model import MarginalModel


@dataclass(frozen=True, kw_only=True)
class MixtureQuestions:
    """Queries of the mixture of a release by `dp-marginals`, besides a prediction."""

    target: str | None = None
    """The column to predict; the declared target where none is named."""
    draw: str | Path | None = None
    """Parquet file to write rows to that are drawn from the mixture."""
    rows: int | None = None
    """Number of rows to draw; the mixture's own number where None."""
    seed: int | None = None
    """The same rows for the same seed."""
    tables: Sequence[Sequence[str]] = ()
    """One to three columns each, whose counts are returned with their intervals."""
    given: Mapping[str, object] = field(default_factory=dict)
    """Conditions on the rows that are drawn and counted; see `MarginalModel.given`."""

    def refuse(self) -> None:
        """Refuse queries that only a mixture can answer.

        Raises
        ------
        ParameterError
            There is a query.
        """
        if self != MixtureQuestions():
            raise ParameterError(
                "a column to predict, rows to draw, tables and conditions need a release by dp-marginals",
                "this release has a model of its target alone",
            )


def tables_typed(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return tables as they are typed: names with commas between, those that hold one in double quotes."""
    return tuple(names_of(text) for text in texts)


def conditions_typed(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return conditions as they are typed, `COLUMN=VALUE`: values of one column are alternatives.

    Raises
    ------
    ParameterError
        One has no sign.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, value = first_name(text, "=")
        if value is None:
            raise ParameterError("a condition is a column, = and a value", f"{option('given')} COLUMN=VALUE")
        found.setdefault(name, []).append(value)
    return found


def answers(mixture: Any, asked: MixtureQuestions) -> dict[str, Any]:
    """Return the answers of a mixture: `tables`, the number of `drawn` rows, and the resolved conditions in `given`.

    Empty where neither tables nor rows are requested.

    Parameters
    ----------
    mixture : MarginalModel
        Ignored where neither rows nor tables are requested.
    asked : MixtureQuestions
    """
    if asked.draw is None and not asked.tables:
        return {}
    conditioned: MarginalModel = mixture.given(asked.given)
    tables = tuple(conditioned.marginal(*names) for names in asked.tables)
    given = tuple(conditioned.conditions.values())
    if asked.draw is None:
        return {"tables": tables, "given": given}
    drawn = conditioned.batches(asked.rows, seed=asked.seed)
    written = []

    def write(aside: Path) -> None:
        first = next(drawn)
        with pq.ParquetWriter(aside, first.schema) as file:
            for batch in chain([first], drawn):
                file.write_batch(batch)
                written.append(batch.num_rows)

    write_whole(Path(asked.draw), write)
    return {"tables": tables, "given": given, "drawn": sum(written)}
