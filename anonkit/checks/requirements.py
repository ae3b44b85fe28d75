# SPDX-License-Identifier: Apache-2.0
"""Requirements that a caller of `validate` adds to the promise, and the validation result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anonkit.checks.against_population import AgainstPopulation
from anonkit.checks.disclosure import Disclosure
from anonkit.checks.population_counts import CHECK as K_MAP
from anonkit.checks.population_counts import ReadsPopulation
from anonkit.checks.suppressed_cells import SuppressedCells
from anonkit.errors import ParameterError, did_you_mean
from anonkit.promises.anonymous_classes import CANDIDATE, Diversity, KAnonymity
from anonkit.promises.guarantee import Check


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The requirements of the caller, on top of a release's promise."""

    quasi_identifiers: Sequence[str] | None
    """Columns an attacker may know; None: those of the report."""
    sensitive: Sequence[str]
    k: int | None
    l: float | None  # noqa: E741 - the field's own letter
    t: float | None
    alpha: float | None
    beta: float | None
    against: AgainstPopulation = field(default_factory=AgainstPopulation)
    """Knowledge of the population."""
    population: ReadsPopulation | None = None
    """Reads its file, where there is one."""

    @property
    def about_sensitive(self) -> bool:
        """Return True if a requirement is about sensitive attributes."""
        return not (self.l is self.t is self.alpha is self.beta is None)

    @property
    def anything(self) -> bool:
        """Return True if some k, l, t, alpha or beta is required, or the risk in a population."""
        return self.k is not None or self.about_sensitive or self.against.is_given

    @property
    def names(self) -> tuple[str, ...]:
        """The required checks, by name."""
        given = {
            "k_anonymity": self.k,
            "l_diversity": self.l,
            "t_closeness": self.t,
            "alpha_k_anonymity": self.alpha,
            "basic_beta_likeness": self.beta,
            K_MAP: self.against.k_map,
        }
        return tuple(name for name, value in given.items() if value is not None)

    def checks(self, disclosure: Disclosure, sensitive: Sequence[str], unit: str | None = None) -> Iterator[Check]:
        """Compare with a recount; an empty table keeps no promise. With a `unit` the required k is of people."""
        promise = KAnonymity(
            k=1 if self.k is None else self.k,
            quasi_identifiers=(),
            sensitive=tuple(sensitive),
            diversity=Diversity(l=self.l, t=self.t, alpha=self.alpha),
            unit=unit,
        )
        unasked = ("k_anonymity", "k_anonymity_people") if self.k is None else ()
        yield from (check for check in promise.verify(disclosure) if check.name not in unasked)
        if self.beta is not None:
            for name in sensitive:
                beta = disclosure.sensitive[name]["beta"]
                passed = disclosure.rows > 0 and beta <= self.beta + 1e-9
                yield Check(name=f"basic_beta_likeness:{name}", passed=passed, observed=beta, required=self.beta)


UNCOUNTABLE = {
    "joint_k": "The joint view with earlier releases was counted on the source; the files do not allow that.",
    "k_anonymity_whole_sets": "Whole sets of rows were counted by the owner: the files do not tell whose a row is.",
    CANDIDATE: "Values of what may be the person were counted by the owner: the files do not tell whose a row is.",
}
"""Checks of a release that nobody can repeat from its files, and why; of a column, `name:column`, by their names."""


def cannot_be_repeated(name: str) -> str | None:
    """Return the reason why nobody can repeat a check from the files of a release; None where everybody can."""
    return UNCOUNTABLE.get(name.partition(":")[0])


@dataclass(frozen=True, kw_only=True)
class Validation:
    """The checks that were made, and their findings."""

    checks: tuple[Check, ...]
    disclosure: Disclosure | None
    """The recount, where there was something to count."""
    unchecked: tuple[str, ...] = ()
    """Declarations and requirements that were not checked: never a pass."""
    uncountable: tuple[str, ...] = ()
    """Declarations that nobody can repeat from the files (`UNCOUNTABLE`)."""
    population: Mapping[str, Any] | None = None
    """The risk in a population, where it was requested."""
    suppressed: SuppressedCells | None = None
    """Cells of a plain table that somebody has suppressed; None where there is none."""
    notes: tuple[str, ...] = ()
    """Findings in columns that are shown unchanged, and their names; no value."""

    @property
    def passed(self) -> bool:
        """True when something was checked, all of it holds, and no declaration or requirement was left out."""
        return bool(self.checks) and not self.unchecked and all(check.passed for check in self.checks)

    def with_declared(self, declared: Iterable[str], asked: Asked) -> Validation:
        """Return the validation with the declared and required checks that it left out.

        A check of a value or a column, `name:column`, answers for its name.
        """
        made = {check.name for check in self.checks}
        kinds = {name.split(":")[0] for name in made}
        left_out = [name for name in declared if name not in made]
        return replace(
            self,
            unchecked=(
                *(name for name in left_out if cannot_be_repeated(name) is None),
                *(name for name in asked.names if name not in kinds),
            ),
            uncountable=tuple(name for name in left_out if cannot_be_repeated(name) is not None),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the validation for `--json`."""
        return {
            "passed": self.passed,
            "checks": [check.to_dict() for check in self.checks],
            "unchecked": list(self.unchecked),
            "notes": list(self.notes),
            "disclosure_risk": None
            if self.disclosure is None
            else {
                **self.disclosure.to_dict(0.2),
                **({} if self.population is None else {"population": dict(self.population)}),
                **({} if self.suppressed is None else {"suppressed": self.suppressed.to_dict()}),
            },
        }


def refuse_unknown(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse columns that are named and are not in the table.

    Raises
    ------
    ParameterError
        There is one.
    """
    for name in names:
        if name not in columns:
            raise ParameterError(f"column {name!r} is not in the table", did_you_mean(name, columns))
