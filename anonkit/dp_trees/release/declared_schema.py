# SPDX-License-Identifier: Apache-2.0
"""Parameters and schema shared by all methods of a trusted owner: epsilon, unit, neighbours, declared columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonkit.dp_trees.release.coded_rows import first_rows_of_units, sampled_rows_of_units
from anonkit.errors import ParameterError, option
from anonkit.mechanisms.accounting import rounded_up, units_of
from anonkit.parameters import check_choice, check_integer, check_number, parameter, settle_numbers, stated_parameters
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.public_domains import NumericAttribute, PublicAttribute, PublicDomains, public_assumptions
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE, changed_rows
from anonkit.promises.noise_promises import CentralDP
from anonkit.protocols import Engine, Source
from anonkit.published.tree_model import Attribute, Split, TreeSchema
from anonkit.randomness import Randomness

ADJACENCIES = {"add-or-remove": ADD_OR_REMOVE, "replace": REPLACE}
FORMS = ("microdata", "cells")
MOST_NOISE = 1_000_000
"""Scale of the noise, in rows, of a count that has all of epsilon, at most, where rows are drawn. Shares of epsilon and
sums of counts make a hundred times as many rows of it: what is drawn in minutes."""
_SHARES_OF_EPSILON = 100
MOST_CELLS_OF_NOISE = 1_000_000_000
"""Cells of a table of noise alone, at most, where rows are drawn: gigabytes, and minutes."""
MOST_ROWS_OF_NOISE = 20_000_000
"""Rows of it, at most, however few the columns: half a minute of processor time; five times as many take minutes."""


@dataclass(frozen=True, kw_only=True)
class CentralMethod:
    """The parameters of every method with central differential privacy, and what follows from them alone.

    One row changes between neighbours, or up to `rows_per_unit` rows with a unit column; replacing a row is removing
    one and adding one. The loss per row is therefore epsilon / `changed_rows` (group privacy).

    Raises
    ------
    ParameterError
        A parameter is outside its range.

    Privacy
    -------
    Epsilon covers the whole release: rows, cells, model, params and report. Everything that a method derives from its
    parameters and the policy is public; nothing here reads a table.
    """

    name: ClassVar[str]
    target_use: ClassVar[TargetUse] = TargetUse.REQUIRED
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 1.0})
    progress_steps: ClassVar[tuple[str, ...]] = ("counting",)
    """Names of the steps of a release, in order, as progress shows them."""

    epsilon: float = parameter(range="(0, 40]", help="privacy loss of the whole release, for the unit of privacy")
    adjacency: str = parameter(
        default="add-or-remove",
        range="one of these",
        help="which tables are neighbours; replaced rows cost twice as much",
        choices=tuple(ADJACENCIES),
    )
    rows_per_unit: int = parameter(
        default=1, range="[1, 1000]", help="with a unit column: most rows of a unit that are used; each costs as much"
    )

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("epsilon", self.epsilon, 0, 40, open_low=True)
        check_choice("adjacency", self.adjacency, tuple(ADJACENCIES))
        check_integer("rows_per_unit", self.rows_per_unit, 1, 1000)

    @property
    def neighbours(self) -> str:
        """Neighbour relation of tables, in the words of the promise."""
        return ADJACENCIES[self.adjacency]

    @property
    def changed_rows(self) -> int:
        """Most rows that come or go between neighbours: epsilon is divided by it."""
        return changed_rows(self.rows_per_unit, self.neighbours)

    @property
    def method_entry(self) -> dict[str, Any]:
        """Public description of the method in the params, from which its account can be rebuilt alone."""
        return {"method": self.name, "parameters": stated_parameters(self)}

    @property
    def draws_rows(self) -> bool:
        """True when rows are drawn, about as many as noisy counts say."""
        return True

    @property
    def keeps_rules(self) -> bool:
        """True when every row keeps the public rules of the policy."""
        return False

    def check_rules(self, policy: Policy) -> None:
        """Refuse rules on rows that its rows cannot keep, by public facts alone; nothing where it keeps none.

        Raises
        ------
        PolicyError
            One names what is in no domain, does not say what follows from each value, or they leave no row possible.
        """

    def check_rows(self) -> None:
        """Refuse an epsilon at which far more rows would be drawn than a table has, for the noise of their number.

        By epsilon and what it is divided over alone. A public number of rows (`n_rows`) changes nothing: as many are
        drawn as the noisy tables say.

        Raises
        ------
        ParameterError
            A count that has all of epsilon has noise of more than `MOST_NOISE` rows.
        """
        least = self.changed_rows / MOST_NOISE
        if self.draws_rows and self.epsilon < least:
            raise ParameterError(
                f"epsilon ({self.epsilon:g}) is too small for this method, which would draw millions of rows of noise",
                f"{option('epsilon', least)} or more",
            )

    def rows_of_noise(self, policy: Policy) -> float:
        """Return about how many rows noise alone makes, in a table that has none; a public figure."""
        return _SHARES_OF_EPSILON * self.changed_rows / self.epsilon

    def check_cells(self, policy: Policy) -> None:
        """Refuse an epsilon at which noise alone would be too large a table for the columns; `check_rows` for all.

        By public facts alone: epsilon, the columns and their domains.

        Parameters
        ----------
        policy : Policy
            With the role of every column.

        Raises
        ------
        ParameterError
            Noise alone would make more than `MOST_ROWS_OF_NOISE` rows, or `MOST_CELLS_OF_NOISE` cells.
        """
        columns = sum(len(policy.names(role)) for role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET))
        if not self.draws_rows:
            return
        rows = self.rows_of_noise(policy)
        too_many = max(rows / MOST_ROWS_OF_NOISE, rows * columns / MOST_CELLS_OF_NOISE)
        if too_many <= 1:
            return
        raise ParameterError(
            f"epsilon ({self.epsilon:g}) is too small for {columns:,} columns: noise alone would make about "
            f"{rows:.0e} rows",
            f"{option('epsilon', float(f'{1.01 * self.epsilon * too_many:.1e}'))} or more, or fewer columns",
        )

    def check_unit(self, policy: Policy) -> None:
        """Refuse several rows a unit where no column is the unit."""
        if policy.unit is None and self.rows_per_unit != 1:
            raise ParameterError("rows_per_unit needs a unit column", option("unit", "NAME"))

    def used_rows(self, source: Source, policy: Policy, engine: Engine, rng: Randomness) -> NDArray[np.bool_] | None:
        """Return a mask of the rows used: the first of each unit, or a sample of joined tables; None for all."""
        if policy.unit is None:
            return None
        if policy.person_rows is not None:
            key = rng.child("rows of people").key("rows of people")
            return sampled_rows_of_units(engine, source, policy.unit, self.rows_per_unit, key)
        return first_rows_of_units(engine, source, policy.unit, self.rows_per_unit)

    @property
    def _row_units(self) -> int:
        """Privacy loss of one row allowed in all, in units of 2**-52."""
        return units_of(Fraction(self.epsilon) / self.changed_rows)

    @property
    def _claim(self) -> float:
        """Promised epsilon; rates rounded down spend a hair less."""
        return rounded_up(Fraction(self._row_units * self.changed_rows, 1 << 52))

    def promise(self, policy: Policy, epsilon: float, *bounds: str, published_claim: str | None = None) -> CentralDP:
        """Return the promise of a realised epsilon, with what must be public besides the domains."""
        return CentralDP(
            epsilon=epsilon,
            adjacency=self.neighbours,
            unit=policy.unit,
            rows_per_unit=self.rows_per_unit,
            published_claim=published_claim,
            assumptions=(*public_assumptions(policy), *bounds),
            conditional=policy.conditional_columns,
            identifiers_from_data=policy.identifiers_from_data,
        )


@dataclass(frozen=True, kw_only=True)
class CellMethod(CentralMethod):
    """A method with noisy counts in the leaves of trees, published as synthetic rows or as generalized cells."""

    progress_steps: ClassVar[tuple[str, ...]] = ("growing",)

    as_: str = parameter(
        default="microdata",
        range="one of these",
        help="publish rows drawn from the noisy counts, or the leaves as generalized cells with their counts",
        choices=FORMS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("as", self.as_, FORMS)

    @property
    def draws_rows(self) -> bool:
        """True but for cells, of which there are as many whatever the noise is."""
        return self.as_ == "microdata"


def bins_parameter(default: int) -> Any:
    """Declare the parameter `bins`."""
    return parameter(default=default, range="[2, 1024]", help="equal bins of each number, over its public bounds")


def schema_of(
    domains: PublicDomains, cells: int, *, number: Split, category: Split, taxonomies: bool = False
) -> TreeSchema:
    """Return the attributes and classes, from public domains alone, numbers on a grid of so many cells.

    Parameters
    ----------
    domains : PublicDomains
        With a target.
    cells : int
        Equal cells of each number over its public bounds, 1 or more.
    number, category : Split
        How numbers and categories are divided.
    taxonomies : bool
        Divide categories that the policy gives a `tree` group by group instead.

    Raises
    ------
    PolicyError
        There is no target, or a tree lacks categories that its column declares.
    """
    return TreeSchema(
        attributes=tuple(
            _attribute(attribute, cells, number, category, taxonomies) for attribute in domains.attributes
        ),
        target=domains.classes.name,
        classes=domains.classes.domain,
    )


def _attribute(declared: PublicAttribute, cells: int, number: Split, category: Split, taxonomies: bool) -> Attribute:
    if isinstance(declared, NumericAttribute):
        return Attribute(name=declared.name, domain=declared.grid(cells), split=number)
    paths = declared.paths if taxonomies else ()
    return Attribute(
        name=declared.name, domain=declared.domain, split=Split.TAXONOMY if paths else category, paths=paths
    )
