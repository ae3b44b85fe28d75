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

The neighbour relation of a promise, the meaning of a delta among its rows or people, and the words for both.

One record comes or goes (`ADD_OR_REMOVE`), or has other values (`REPLACE`); a record is a row, or all rows of a person.

The absence of a promise, stated plainly: the value for methods without a proof of privacy.

Some published methods have no bound, such as geometric perturbation with random multipliers, or a stop rule that looks
at exact counts. anonkit offers them for comparison, and writes over everything they make that nothing is promised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from anonkit.documents import ReportPart, read
from anonkit.errors import ParameterError, refusing_damage

if TYPE_CHECKING:
    from anonkit.promises.anonymous_classes import KAnonymity


ADD_OR_REMOVE = "add or remove one record"
REPLACE = "replace one record"
MOST_SHOWN = 0.01
"""Rows or people whom the worst release within an (epsilon, delta) promise shows on average, at most: delta times all
of them. More is not far below one in them."""
CHANGES = {ADD_OR_REMOVE: "added or removed", REPLACE: "replaced"}
"""Difference of a record between neighbours, in words."""
_HAIR = 1 + 1e-12
"""Error bound of floating-point numbers of a delta."""


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two tables that a promise compares: what differs between them."""

    adjacency: str
    """`ADD_OR_REMOVE` or `REPLACE`."""
    unit: str | None = None
    """Column whose values are the people, all rows of one of whom differ; None: one row does."""

    @property
    def changed(self) -> str:
        """The difference of neighbours, as in `D with one record added or removed`."""
        unit = "one record" if self.unit is None else f"all records of one value of {self.unit!r}"
        return f"{unit} {CHANGES[self.adjacency]}"

    @property
    def in_short(self) -> str:
        """The difference of neighbours, in short: `one row added or removed`, `one value of 'patient' replaced`."""
        whose = "one row" if self.unit is None else f"one value of {self.unit!r}"
        return f"{whose} {CHANGES[self.adjacency]}"

    @property
    def counted(self) -> str:
        """The number that delta is compared with: `rows`, or `people`."""
        return "rows" if self.unit is None else "people"


def changed_rows(rows_per_unit: int, adjacency: str) -> int:
    """Return most rows that come or go between neighbours: a replaced row goes, and another comes."""
    return rows_per_unit * (2 if adjacency == REPLACE else 1)


def is_far_below(delta: float, protected: int) -> bool:
    """Return True if a delta is far below one in so many rows or people."""
    return delta * protected <= MOST_SHOWN * _HAIR


def most_protected(delta: float) -> int:
    """Return the most rows or people in whom a delta above 0 is far below one."""
    return math.floor(MOST_SHOWN * _HAIR / delta)


def fewest_protected(rows: int, rows_per_unit: int) -> int:
    """Return the least number of rows or people, of whom so many rows were used."""
    return -(-rows // max(rows_per_unit, 1))  # a report of others may say 0


CHECKED = "checked on output"
_BESIDE = ("adjacency", "assumptions")
"""Keys of a promise that its block has beside its parameters."""
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
        """Return the loss that the ledger books; None where no loss is counted, as under k-anonymity."""
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
        """Return the disclosures that the promise leaves possible."""
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


class GuaranteeBlock(ReportPart, damage="the guarantee of the report is damaged"):
    """A promise by its declaration: its keys are the parameters of the block, with its assumptions and adjacency."""

    basis: ClassVar[str] = BY_CONSTRUCTION
    """`CHECKED` where the output shows whether the promise holds."""

    @property
    def unit_words(self) -> str | None:
        """The unit of protection, in words; None for a promise of nothing."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the `guarantee` block of the report, the same keys for every kind of promise."""
        promise: Any = self
        parameters = super().to_dict()
        beside = {name: parameters.pop(name, None) for name in _BESIDE}
        return {
            "kind": promise.kind,
            "statement": promise.statement(),
            "formal": promise.formal(),
            "parameters": parameters,
            "unit": self.unit_words,
            "adjacency": beside["adjacency"],
            "assumptions": beside["assumptions"],
            "basis": self.basis,
            "not_protected": list(promise.not_protected()),
        }

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> Self:
        """Read the promise back from the `guarantee` block of a report.

        Raises
        ------
        ReleaseFormatError
            A parameter is missing, or holds something of the wrong kind or out of its range.
        """
        with refusing_damage(cls._damage):
            stated = {**block["parameters"], **{name: block[name] for name in _BESIDE}}
        return read(cls, stated)


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


@dataclass(frozen=True, kw_only=True)
class NoGuarantee(
    GuaranteeBlock,
    keys=("**parameters", "reason", "domains_from_data=conditional", "assumptions"),
    made_by="of_parameters",
):
    """No formal protection: the release states so, and why."""

    kind: ClassVar[str] = "none"
    cell_by_cell: ClassVar[bool] = True
    redraw_costs: ClassVar[bool] = True
    shows_rows: ClassVar[bool] = True

    reason: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    conditional: tuple[str, ...] = ()
    """Columns whose domain was read from the table."""

    def loss(self) -> PrivacyLoss:
        """Return an infinite loss: whoever set a budget for a dataset meant to bound it."""
        return PrivacyLoss(epsilon=math.inf, neighbours=Neighbours(adjacency=REPLACE))

    @property
    def counted_classes(self) -> None:
        """Nothing is promised that could be counted."""
        return None

    def statement(self) -> str:
        """Return that nothing is promised."""
        return f"This release carries no formal privacy guarantee. {self.reason}"

    def formal(self) -> str:
        """Return that nothing is promised."""
        return "No formal guarantee."

    def not_protected(self) -> tuple[str, ...]:
        """Return the disclosures that are possible: all."""
        return ("Everything: treat the release like the source table.",)

    @classmethod
    def of_parameters(
        cls,
        *,
        parameters: Mapping[str, Any],
        reason: str,
        domains_from_data: tuple[str, ...],
        assumptions: tuple[str, ...],
    ) -> Self:
        """Return the statement of a block: parameters that are no others are those of the method."""
        own = {"reason", "domains_from_data", *_BESIDE}
        stated = {name: value for name, value in parameters.items() if name not in own}
        return cls(reason=reason, parameters=stated, conditional=domains_from_data, assumptions=assumptions)
