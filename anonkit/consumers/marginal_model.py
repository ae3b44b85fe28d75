# SPDX-License-Identifier: Apache-2.0
"""The model of a release for any purpose: any number of rows, tables with intervals, conditions on columns.

Mean of a column of numbers and shares of categories, with intervals, as a receiver's model answers for them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.consumers.factors import ClassConditionals
from anonkit.consumers.marginal_queries import MODEL, RowCondition, answer, noisy_cells, row_condition
from anonkit.consumers.release_files import read_params
from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.public_rules import PublicRules
from anonkit.errors import ParameterError, refusing_damage
from anonkit.published.column_means import ColumnCounts, counts_of_columns
from anonkit.published.noisy_tables import OneWayTable, PairTable
from anonkit.published.product_mixtures import FORMATS, ProductMixtures, codes_of_rows, dealt
from anonkit.published.quoted_names import which_column
from anonkit.published.released_codes import CodeRules, cells_of_codes, cells_of_places, places_of_cells

if TYPE_CHECKING:
    import pandas as pd


class ColumnAnswers(ABC):
    """A model that answers for single columns of the table that was counted, from published counts alone."""

    def mean(self, column: str, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean of a column of numbers in the owner's table, and between what it lies.

        Numbers count as the owner counted them: beyond the bounds as the bound; missing ones are left out. A number is
        known by its cell alone, so the interval is at least as wide as where all are at one end of their cells.

        Parameters
        ----------
        column : str
        level : float
            Confidence of the interval, in (0, 1).

        Returns
        -------
        mean, low, high : float
            In the unit of the column.

        Raises
        ------
        ParameterError
            The column has no numbers or was not counted, the release has no noisy counts of columns, the model has
            conditions, or the level is no confidence.
        ReleaseFormatError
            The params are damaged.
        """
        counted = _counted(self._counted_params(column), column, level)
        if not isinstance(counted.domain, Grid):
            raise ParameterError(f"column {column!r} holds categories: it has no mean", "ask for its shares")
        found = counted.mean(level)
        return found.value, found.low, found.high

    def shares(self, column: str, level: float = 0.95) -> dict[str | None, tuple[float, float, float]]:
        """Return share, low end and high end of each category of a column, None for missing.

        Each interval is right with the confidence `level` by itself. Errors are those of `mean`.
        """
        counted = _counted(self._counted_params(column), column, level)
        if not isinstance(counted.domain, Categories):
            raise ParameterError(f"column {column!r} holds numbers: it has no shares", "ask for its mean")
        return counted.shares(level)

    @abstractmethod
    def _counted_params(self, column: str) -> Mapping[str, Any]:
        """Return the params of a release whose counts are of the column, or refuse it."""


def _counted(params: Mapping[str, Any], name: str, level: float) -> ColumnCounts:
    if not 0 < level < 1:
        raise ParameterError(f"level ({level}) must be in (0, 1)")
    with refusing_damage("the noisy counts lack a key or have one of the wrong kind", contradictions=True):
        found = dict(counts_of_columns(params))
        known = [str(one["name"]) for one in params["columns"]]
    if name in found:
        return found[name]
    if name in known:
        raise ParameterError(f"column {name!r} was not counted by itself", "the rows are all there is of it")
    raise ParameterError(f"{name!r} is not a column of the release", which_column(name, known))


BATCH_ROWS = 1 << 20
"""Rows that are drawn together."""
_MOST_ROWS = 1 << 40
_PARTS = ("format", "target", "attributes", "anchored", "mixtures", "tables", "pairs", "columns")
"""Params that make the model."""
_RULES = "constraints"
"""And the public rules that its rows keep, where there are some."""
_TRIPLE = "triple"
"""And the choice of three columns that were measured together with the target, where one was made."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MarginalTable(ReportPart, keys=("columns=names", "level", "cells")):
    """Counts of rows by the values of one to three columns; all arrays have one shape, an axis a column."""

    names: tuple[str, ...]
    """The columns."""
    labels: tuple[tuple[object, ...], ...]
    """For each column its values, None for missing; of a number the middles of its bins, NaN for missing."""
    estimate: FloatArray
    """Rows: the noisy count where it was measured by itself (unbiased, maybe below 0), else what the model expects."""
    lower: FloatArray
    upper: FloatArray
    """Ends of the interval for the true count of the owner's rows, by the law of the noise; NaN for the model's."""
    model: FloatArray
    """Rows that the model expects: not below 0, and consistent from one table to the next."""
    basis: NDArray[np.object_]
    """`measured`: the count has noise and nothing else; `together`: only a bound was measured, with rarer values;
    `model`: nothing was measured, and how far the figure is off is not known."""
    level: float
    """Confidence of each interval on its own."""

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The cells, one a combination; None for missing and for an end that is not known."""
        figures = ("estimate", "lower", "upper", "model")
        columns = [getattr(self, name).reshape(-1).tolist() for name in figures]
        return [
            {
                "values": [_clear(value) for value in values],
                **{name: _clear(column[at]) for name, column in zip(figures, columns, strict=True)},
                "basis": self.basis.reshape(-1)[at],
            }
            for at, values in enumerate(product(*self.labels))
        ]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a cell, the values as index levels."""
        import pandas as pd

        index = pd.MultiIndex.from_product(self.labels, names=list(self.names))
        columns = ("estimate", "lower", "upper", "model", "basis")
        return pd.DataFrame({name: getattr(self, name).reshape(-1) for name in columns}, index=index)


class MarginalModel(ColumnAnswers):
    """The model of a release by `dp-marginals`: its noisy tables, and the mixture that was fitted to them.

    Parameters
    ----------
    params : mapping
        The release's params.

    Attributes
    ----------
    columns : tuple of str
        The columns of the release, in its order.
    target : str or None
        The declared target.

    Raises
    ------
    ReleaseFormatError
        The params are damaged, or of another kind of release.

    Privacy
    -------
    Post-processing of what was published: more rows and more queries add no privacy loss.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._mixtures = ProductMixtures.from_params(params)
        with refusing_damage("the noisy tables lack a key or have one of the wrong kind", contradictions=True):
            tables = [replace(OneWayTable.from_params(one), law=self._mixtures.law) for one in params["tables"]]
            pairs = [replace(PairTable.from_params(one), law=self._mixtures.law) for one in params["pairs"]]
            self.columns = tuple(str(one["name"]) for one in params["columns"])
            self._triple = tuple(map(str, params[_TRIPLE]["names"] if _TRIPLE in params else ()))
            self._tables, self._pairs = noisy_cells(self._mixtures, tables, pairs)
            self._measured = tables, pairs
            self._rules = PublicRules.stated(params.get(_RULES, ()))
            stated = {str(one["name"]): one["domain"] for one in params["columns"]}
            every = {
                name: Grid.from_params(raw) if "bounds" in raw else Categories.from_params(raw)
                for name, raw in stated.items()
            }
            if set(self.columns) != {*self.domains, *self._rules.determined}:
                raise ParameterError("the columns are not those of the mixture")
            self._shown = every
            self._codes_of = {
                name: rule.codes(every[rule.of], every[name]) for name, rule in self._rules.determined.items()
            }
        self._conditions: dict[str, RowCondition] = {}
        self._params = {name: params[name] for name in (*_PARTS, *(key for key in (_RULES, _TRIPLE) if key in params))}

    @classmethod
    def from_release(cls, path: str | Path) -> Self:
        """Read the model of a release on disk; its `params.json` is all that is needed.

        Raises
        ------
        ParameterError
            The release holds no such model.
        GuaranteeError
            The params were changed after the release.
        ReleaseFormatError
            The file is missing or damaged.
        """
        params = read_params(path)
        if params.get("format") not in FORMATS:
            raise ParameterError(f"{str(path)!r} holds no mixture", "it is what method dp-marginals publishes")
        return cls(params)

    def to_params(self) -> dict[str, Any]:
        """Return the parts of the params that make the model, ready for JSON; conditions are not among them."""
        return dict(self._params)

    @property
    def target(self) -> str | None:
        """Name of the declared target."""
        return self._mixtures.schema.target

    @property
    def domains(self) -> dict[str, Categories | Grid]:
        """Public domain of each column."""
        return self._mixtures.schema.domains

    @property
    def mixtures(self) -> ProductMixtures:
        """The mixture as it was published, without conditions."""
        return self._mixtures

    def class_conditionals(self) -> ClassConditionals | None:
        """Return the evidence of the tables on a target that splits them all; None where the mixture predicts.

        Where three columns were measured with the target, the mixture alone has what they say of it together.
        """
        return None if self._triple else ClassConditionals.of(self._mixtures, *self._measured)

    @property
    def conditions(self) -> dict[str, RowCondition]:
        """The resolved conditions, by column: `ranges` of a number, of whole bins; `values` and `missing`."""
        return dict(self._conditions)

    @property
    def _allowed(self) -> dict[str, BoolArray]:
        return {name: condition.allowed for name, condition in self._conditions.items()}

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of columns that were measured, besides those with a target that splits all tables."""
        return tuple((table.names[-2], table.names[-1]) for table in self._pairs)

    @property
    def triple(self) -> tuple[str, ...]:
        """Three columns that were measured together with the target; none where no triple was."""
        return self._triple

    @property
    def rows(self) -> float:
        """Rows that the model expects in the owner's table, under the conditions."""
        return float(sum(own.sum() for own in self._mixtures.component_rows(self._allowed)))

    def given(self, conditions: Mapping[str, object]) -> MarginalModel:
        """Return the model of the rows that have certain values, exactly as the mixture has them.

        A number is known by its bin. A range means the bins whose middles lie in it, a single number for the bin
        that it is in: counts and intervals are of these whole bins, which the result lists in `conditions`, and drawn
        rows show any number of them.

        Parameters
        ----------
        conditions : mapping
            For a column a value, or a list, array, Series or range of values, of which any is enough; None, NaN and an
            empty text are missing. For a number also a pair (low, high), both ends included, and pairs in a list.
            Strings are read: "30", "30..50".

        Raises
        ------
        ParameterError
            There is no such column or value, no bin has its middle in a range, or the mixture has no such row.
        """
        found = type(self).__new__(type(self))
        found.__dict__.update(self.__dict__, _conditions=self.conditions)
        for name, condition in conditions.items():
            if name not in self.domains:
                raise self._unknown(name)
            read, before = row_condition(name, self.domains[name], condition), self._conditions.get(name)
            found._conditions[name] = read if before is None else before.and_of(read)
        if found.rows <= 0:
            raise ParameterError("the model has no rows under these conditions", "ask for more values")
        return found

    def marginal(self, *names: str, level: float = 0.95) -> MarginalTable:
        """Return the rows by the values of one to three columns, each count with its interval where it was measured.

        Parameters
        ----------
        *names : str
            One to three columns.
        level : float
            Confidence of each interval on its own, in (0, 1).

        Returns
        -------
        MarginalTable
            Of the rows that meet the conditions. Intervals are for the counts of the owner's rows that were used, by
            the law of the noise: what another table of the same population would have had is not part of them.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level ({level}) must be in (0, 1)")
        for name in names:
            if name in self._rules.determined:
                raise self._unknown(name)
        expected = self._mixtures.rows_expected(names, self._allowed)
        table = answer(self._tables, self._pairs, names, self._allowed, level)
        domains = [self.domains[name] for name in names]
        labels = tuple(tuple(one.decode(np.arange(one.size)).tolist()) for one in domains)
        if table is None:
            gaps = np.full(expected.shape, np.nan)
            basis = np.full(expected.shape, MODEL, dtype=object)
            return MarginalTable(
                names=names, labels=labels, estimate=expected, lower=gaps, upper=gaps, model=expected, basis=basis,
                level=level,
            )  # fmt: skip
        return MarginalTable(
            names=names,
            labels=labels,
            estimate=np.where(table.basis == "measured", table.counts, expected),
            lower=table.lower,
            upper=table.upper,
            model=expected,
            basis=table.basis,
            level=level,
        )

    def _counted_params(self, column: str) -> Mapping[str, Any]:
        if self._conditions:
            raise ParameterError(
                "the mean and the shares are of all rows, and this model has conditions",
                "ask the model without them, or for `marginal`",
            )
        if column in self._rules.determined:
            raise self._unknown(column)
        return self._params

    def _unknown(self, name: str) -> ParameterError:
        """Return the refusal of a column that the mixture does not have."""
        rule = self._rules.determined.get(name)
        if rule is not None:
            return ParameterError(
                f"column {name!r} was not counted: it follows from {rule.of!r}", f"ask for {rule.of!r}"
            )
        return ParameterError(f"{name!r} is not a column of the release", which_column(name, self.domains))

    def draw(self, n_rows: int | None = None, *, seed: int | None = None) -> pa.Table:
        """Draw rows, in random order, with the columns and types of the release.

        Parameters
        ----------
        n_rows : int, optional
            As many as the model expects, under the conditions, when not given.
        seed : int, optional
            The same rows for the same seed; fresh ones without.

        Returns
        -------
        pyarrow.Table
            `.to_pandas()` makes it a data frame.
        """
        return pa.Table.from_batches(list(self.batches(n_rows, seed=seed)))

    def batches(
        self, n_rows: int | None = None, *, seed: int | None = None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Draw rows batch by batch, so that no more than one batch is in memory; parameters are those of `draw`.

        Yields
        ------
        pyarrow.RecordBatch
            One at least, of up to `batch_rows` rows, each a sample of the model by itself.

        Raises
        ------
        ParameterError
            A number is none of rows, or the model has none to draw; before the first batch is drawn.
        """
        wanted = round(self.rows) if n_rows is None else _whole("rows", n_rows, 0, _MOST_ROWS)
        size = _whole("batch_rows", batch_rows, 1)
        chosen = None if seed is None else _whole("seed", seed, 0)
        weights = self._mixtures.component_weights(self._allowed)
        if wanted and not sum(weights):
            raise ParameterError("the model has no rows to draw")
        words = _Words(chosen)
        return (self._batch(weights, min(size, wanted - first), words) for first in range(0, max(wanted, 1), size))

    def _batch(self, weights: Sequence[int], n_rows: int, words: _Words) -> pa.RecordBatch:
        numbers = dealt(weights, n_rows, words) if n_rows else np.zeros(len(weights), dtype=np.int64)
        cells = zip(self.domains.items(), codes_of_rows(self._mixtures, numbers, words, self._allowed), strict=True)
        shown = self._shown
        codes = {name: places_of_cells(own, domain, shown[name], words) for (name, domain), own in cells}
        if self._rules.never:
            allowed = {
                name: own[cells_of_places(self.domains[name], shown[name])] for name, own in self._allowed.items()
            }
            rules = CodeRules.of(self._rules, shown, self.target, allowed=allowed)
            classes = np.zeros(n_rows, dtype=np.int64) if self.target is None else codes[self.target]
            codes = rules.repaired(codes, classes, words)
        codes |= {name: own[codes[self._rules.determined[name].of]] for name, own in self._codes_of.items()}
        order = words.order(n_rows)
        released = [cells_of_codes(codes[name][order], shown[name]) for name in self.columns]
        return pa.RecordBatch.from_arrays(released, names=list(self.columns))


class _Words:
    """Words of a statistical generator: the mixture is public, and nothing private hangs on what is drawn from it."""

    def __init__(self, seed: int | None) -> None:
        self._random = np.random.default_rng(seed)

    def take(self, n: int) -> NDArray[np.uint64]:
        """Return so many uniform 64-bit words."""
        return self._random.integers(0, 1 << 64, n, dtype=np.uint64)

    def below(self, bounds: IntArray) -> IntArray:
        """Return, for each bound, a uniform integer in [0, bound)."""
        return self._random.integers(0, bounds)

    def order(self, n: int) -> IntArray:
        """Return a uniform order of so many rows."""
        return self._random.permutation(n)


def _clear(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def _whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return an integer, of numpy too, within its bounds."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    number = int(value) if whole else -1  # type: ignore[call-overload]
    if number < low or (high is not None and number > high):
        interval = f"[{low}, inf)" if high is None else f"[{low}, {high}]"
        raise ParameterError(f"{name} ({value}) must be an integer in {interval}")
    return int(number)
