# SPDX-License-Identifier: Apache-2.0
"""Domains that were found in the table privately, and what finding them cost: lines of the release's own account."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from anonkit.documents import ParamsPart, left_out
from anonkit.errors import AnonkitError

_UNIT = Fraction(1, 1 << 52)
LINE_KEYS = ("purpose", "mechanism", "rate", "rate_unit", "sensitivity", "times", "level", "ends_path")
"""Keys that every line of an account has, in their order; its loss follows."""


@dataclass(frozen=True, kw_only=True)
class FindingLine(ParamsPart, keys=(*LINE_KEYS, "epsilon", "threshold", "delta")):
    """One draw that looked for a domain."""

    rate_unit: ClassVar[str] = "2**-52"
    sensitivity: ClassVar[int] = 1
    times: ClassVar[int] = 1
    level: ClassVar[None] = None
    ends_path: ClassVar[bool] = False
    purpose: str
    mechanism: str
    rate: int
    """Epsilon of one row, in units of 2**-52."""
    threshold: int | None = field(default=None, metadata=left_out())
    """Noisy count from which on a category is published; None for a draw over public cells."""
    delta: Fraction = field(default=Fraction(0), metadata=left_out())
    """Probability, for the unit of privacy, that a category of one unit alone is published; rounded up."""

    @property
    def epsilon(self) -> Fraction:
        """Loss of one row in epsilon."""
        return self.rate * _UNIT


@dataclass(frozen=True, kw_only=True)
class FoundDomains:
    """Domains that a private search found, and its privacy loss."""

    lines: tuple[FindingLine, ...] = ()
    names: tuple[str, ...] = ()
    """Columns whose domains were found."""
    left_out: tuple[str, ...] = field(default=())
    """Columns in which nothing exceeded the noise, so that they are not released."""
    undecided: str | None = None
    """Why nothing can be released, in words: an outcome of draws that were made, so that it is charged like them."""
    advice: str | None = None
    """Advice on such columns."""
    is_plan: bool = False
    """True: nothing was looked at, and these are the columns whose domains a release would find."""

    @property
    def row_epsilon(self) -> Fraction:
        """Loss of one row in epsilon for the whole search."""
        return sum((line.epsilon for line in self.lines), Fraction(0))

    def refused_by(self, refusal: AnonkitError) -> FoundDomains:
        """Return them with a refusal that follows from what was found."""
        why, advice = refusal.told
        return replace(self, undecided=why, advice=advice)
