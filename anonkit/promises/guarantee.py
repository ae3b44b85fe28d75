# SPDX-License-Identifier: Apache-2.0
"""The interface of every promise, so that no other module has to test for its kind.

A promise is a value, computed from a method's parameters and the policy alone, before any data is seen. Every step of
a release needs something of it: reading (may a cell be read in the light of others?), counting (what on the released
table shows whether it holds?), the ledger (what does it cost, and what does a second draw?), and the report (what does
it say, and what does it not protect?). Each of these is an attribute of `Guarantee`. So a new kind of promise is a new
file beside this one; no step of a release has to learn its name.

Three things cannot be in the value, since they work on files, where a promise is only the word `kind` of a report:

- whoever checks a release (`anonkit.checks.promise_checkers`), which must share no code with what makes it;
- the words of the page (`anonkit.report.promise_words`);
- the schema of the report's block (`anonkit/report/schemas`).

Each is a table with one line per kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from anonkit.documents import ReportPart
from anonkit.errors import ParameterError
from anonkit.promises.neighbouring_tables import Neighbours

if TYPE_CHECKING:
    from anonkit.promises.anonymous_classes import KAnonymity

CHECKED = "checked on output"
BY_CONSTRUCTION = "by construction"


@dataclass(frozen=True, kw_only=True)
class Check(ReportPart):
    """One check: its finding against the requirement."""

    name: str
    passed: bool
    observed: float | int | str | None
    required: float | int | str | None


@dataclass(frozen=True, kw_only=True)
class PrivacyLoss:
    """The privacy loss of a release for the people in it, in the currency of differential privacy.

    Raises
    ------
    ParameterError
        A figure is outside its range.
    """

    epsilon: float
    """In [0, inf]; infinite where no bound holds."""
    delta: float = 0.0
    """Probability of outcomes that the bound does not cover, in [0, 1); 0 for pure differential privacy."""
    neighbours: Neighbours | None = None
    """Between which two tables it holds; None where the promise does not say: then it adds up with no other."""
    cap: int | None = None
    """Most rows of one person that were used, 1 or more; None where no cap was enforced."""

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ParameterError(f"epsilon ({self.epsilon:g}) must be in [0, inf]")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta ({self.delta:g}) must be in [0, 1)")


LOOKED_AT = (
    "Roles, domains or parameters were chosen after a look at the private table. The promise is about the release that "
    "was chosen: it does not cover what the choice itself tells of the table."
)
"""Note of a promise of noise whose choices followed from the table."""


class Guarantee(Protocol):
    """The interface of every promise.

    Notes
    -----
    `to_dict` and `from_dict` are inverse to each other: the block of a report is made again from its own parameters
    when a release is validated, so that no sentence of a promise can be changed without its figures.
    """

    kind: ClassVar[str]
    """The word by which report, ledger and page know the promise."""
    cell_by_cell: ClassVar[bool]
    """True when how a row is read must not depend on any other row.

    Differential privacy compares two tables that differ in one row. A type, a domain or a role that is inferred from
    all cells can change with that row for everybody else, which no bound accounts for. So all of them are declared
    then. Under k-anonymity, which is about the table that is released, they may be inferred.
    """
    redraw_costs: ClassVar[bool]
    """True when a second release of the same rows is refused unless a budget is set.

    A randomized table shows every row with noise of its own. The mean of two such tables shows it with half the
    variance, which nobody expects who asks for "the same release again".
    """

    shows_rows: ClassVar[bool]
    """True when a released row may be the changed row of a person, who can then be looked for in it.

    Under central differential privacy no row may be that: were it, its person's absence would show. Rows are drawn
    from noisy statistics there, and linking them to people means nothing.
    """

    def loss(self) -> PrivacyLoss | None:
        """Return what the ledger books; None where no loss is counted, as under k-anonymity."""
        ...

    @property
    def counted_classes(self) -> KAnonymity | None:
        """The promise that a recount checks on the released table; None where no table shows it."""
        ...

    def statement(self) -> str:
        """Return the promise in plain words."""
        ...

    def formal(self) -> str:
        """Return the promise in the field's terms."""
        ...

    def not_protected(self) -> tuple[str, ...]:
        """Return what an attacker may still learn."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the `guarantee` block of the report."""
        ...

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> Self:
        """Read the promise back from the `guarantee` block of a report."""
        ...


def loss_json(epsilon: float) -> float | str:
    """Return a privacy loss for JSON, which has no infinity."""
    return "inf" if math.isinf(epsilon) else epsilon


def guarantee_block(
    promise: Guarantee,
    *,
    parameters: Mapping[str, Any],
    unit: str | None,
    adjacency: str | None,
    assumptions: Sequence[str],
    basis: str,
) -> dict[str, Any]:
    """Return the `guarantee` block of a report, the same keys for every kind of promise."""
    return {
        "kind": promise.kind,
        "statement": promise.statement(),
        "formal": promise.formal(),
        "parameters": dict(parameters),
        "unit": unit,
        "adjacency": adjacency,
        "assumptions": list(assumptions),
        "basis": basis,
        "not_protected": list(promise.not_protected()),
    }


def conditional_words(domains: Sequence[str], identifiers: Sequence[str]) -> str:
    """Return the conditions of a promise for its statement; an empty string when everything was declared."""
    conditions = []
    if domains:
        conditions.append(f"the domains of {', '.join(domains)} were read from the table")
    if identifiers:
        conditions.append(f"{', '.join(identifiers)} were left out because their cells look like identifiers")
    if not conditions:
        return ""
    which = "they are" if domains else "that is"
    return f"CONDITIONAL: {', '.join(conditions)}, and what follows holds only if {which} public knowledge. "
