# SPDX-License-Identifier: Apache-2.0
"""Public domains as codes: the categories of an attribute, or the cells of a grid over its bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import Codes, FloatArray
from anonkit.errors import ParameterError, ReleaseFormatError, refusing_damage

UNKNOWN = -1
"""Code of a value that is not in the domain."""


@dataclass(frozen=True, kw_only=True)
class Categories:
    """The public list of an attribute's categories; missing, when it can occur, is one more and the last code."""

    values: tuple[str, ...]
    """The categories, in order."""
    has_missing: bool = False
    """True when a value may be missing."""
    texts_alone: bool = field(default=False, compare=False, repr=False)
    """True when 1 and 1.0 are different categories; it matters where cells of a source are read, and there alone."""

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise ParameterError("categories must be distinct and at least one")

    @property
    def size(self) -> int:
        """Number of codes, missing included."""
        return len(self.values) + self.has_missing

    @property
    def codes_of(self) -> dict[str | None, int]:
        """Code of each category, and of None when missing is one of them."""
        known: dict[str | None, int] = {value: code for code, value in enumerate(self.values)}
        return {**known, None: len(self.values)} if self.has_missing else known

    def labels(self) -> list[str | None]:
        """Return the category of each code, None for missing."""
        return [*self.values, *([None] if self.has_missing else [])]

    def decode(self, codes: Codes) -> NDArray[np.object_]:
        """Return the category of each code, None for missing, shape (n,)."""
        return np.array(self.labels(), dtype=object)[codes]

    def to_params(self) -> dict[str, Any]:
        """Return the domain, ready for JSON."""
        return {"categories": list(self.values), "has_missing": self.has_missing}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the domain from `to_params()`."""
        values = params.get("categories")
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ReleaseFormatError("a domain must list its categories as texts")
        return cls(values=tuple(values), has_missing=bool(params.get("has_missing", False)))


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Equal cells over public bounds; missing, when it can occur, is one more code after the last cell.

    A value outside the bounds counts as the nearest bound.
    """

    lower: float
    """Lower bound, in the unit of the attribute."""
    upper: float
    """Upper bound, in the unit of the attribute."""
    cells: int
    """Number of equal cells."""
    has_missing: bool = False
    """True when a value may be missing."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise ParameterError("bounds must be two finite numbers [low, high] with low < high")
        if self.cells < 1:
            raise ParameterError(f"cells ({self.cells}) must be at least 1")

    @property
    def size(self) -> int:
        """Number of codes, missing included."""
        return self.cells + self.has_missing

    @property
    def width(self) -> float:
        """Width of a cell, in the unit of the attribute."""
        return (self.upper - self.lower) / self.cells

    def midpoints(self) -> FloatArray:
        """Return the middle of each cell, shape (cells,)."""
        return np.asarray(self.lower + (np.arange(self.cells) + 0.5) * self.width, dtype=np.float64)

    def edges(self) -> FloatArray:
        """Return the ends of the cells, shape (cells + 1,)."""
        return np.asarray(np.linspace(self.lower, self.upper, self.cells + 1), dtype=np.float64)

    def encode(self, values: FloatArray) -> NDArray[np.int32]:
        """Return the cell of each value; NaN is the code after the last cell.

        Raises
        ------
        ParameterError
            When values are missing and the domain has no missing; the message counts them.
        """
        numbers = np.asarray(values, dtype=np.float64)
        absent = np.isnan(numbers)
        if absent.any() and not self.has_missing:
            raise ParameterError(
                f"{int(absent.sum())} of {numbers.size} values are missing but the domain has no missing",
                "declare that values may be missing: absence is then randomized too",
            )
        place = (np.where(absent, self.lower, numbers) - self.lower) / self.width
        codes = np.clip(place, 0, self.cells - 1).astype(np.int32)
        codes[absent] = self.cells
        return codes

    def decode(self, codes: Codes) -> FloatArray:
        """Return the middle of each cell, NaN for missing, shape (n,)."""
        return np.append(self.midpoints(), np.nan)[codes]

    def widened(self, band: int) -> Grid:
        """Return the grid of a band response's places: each stands at the middle of the band it belongs to."""
        margin = (band - 1) / 2 * self.width
        cells = self.cells + band - 1
        return Grid(lower=self.lower - margin, upper=self.upper + margin, cells=cells, has_missing=self.has_missing)

    def to_params(self) -> dict[str, Any]:
        """Return the domain, ready for JSON."""
        return {"bounds": [self.lower, self.upper], "cells": self.cells, "has_missing": self.has_missing}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the domain from `to_params()`."""
        with refusing_damage("a grid must have bounds, cells and has_missing"):
            lower, upper = (float(bound) for bound in params["bounds"])
            return cls(lower=lower, upper=upper, cells=int(params["cells"]), has_missing=bool(params["has_missing"]))
