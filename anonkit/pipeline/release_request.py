# SPDX-License-Identifier: Apache-2.0
"""The request for a release, without its table: validated, as far as possible, before any data is read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from anonkit.checks.against_population import AgainstPopulation
from anonkit.engines.engine_choice import EngineChoice, Local
from anonkit.errors import ChoiceError, PolicyError, option
from anonkit.ledger.account import Account
from anonkit.parameters import check_integer
from anonkit.pipeline.release_output import Output
from anonkit.policy.declaration import Policy
from anonkit.policy.truth_values import with_truth_values
from anonkit.protocols import Method, Progress, no_progress
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest:
    """The request of a release, but for the table.

    The keywords of `anonkit.release`, the options of the command line, a recipe, `anonkit.apply` and `anonkit.compare`
    all become this value, so that an option is a field of one of its parts and nothing in between spells it.

    Raises
    ------
    ParameterError
        Domains are to be read from the table, and of fewer than two people.
    """

    method: Method
    """With its parameters."""
    policy: Policy = field(default_factory=Policy)
    """The owner's declarations: domains, and the roles of columns."""
    preset: str | None = None
    """Named set of choices that the method was made with, for the report."""
    domains_min_people: int | None = None
    """People that share a category that is read from the table; None: all domains are declared, and none is read."""
    engine: EngineChoice = field(default_factory=Local)
    """Engine that reads and counts the rows."""
    output: Output = field(default_factory=Output)
    """Place and form of the release."""
    account: Account = field(default_factory=Account)
    """Account that it is charged to."""
    seed: int | None = None
    """Reproducible randomness for tests; None: the secure generator."""
    utility: bool = True
    """True where models are trained on the release, and on its source for the owner, to measure its utility."""
    population: AgainstPopulation = field(default_factory=AgainstPopulation)
    """Knowledge of the population that the table was drawn from."""
    progress: Progress = no_progress
    """Called with the step and the share done."""

    def __post_init__(self) -> None:
        if self.domains_min_people is not None:
            # one would publish what one person has
            check_integer("domains_min_people", self.domains_min_people, 2, hint="10, unless there is a reason")
        if self.policy.aggregates and getattr(self.method, "aggregate", None) == ():
            # the tables that the policy lists, for a method that publishes tables and was given none
            object.__setattr__(self, "method", replace(self.method, aggregate=self.policy.aggregates))  # type: ignore[type-var]

    def declared(self, *, typed: bool = False) -> Policy:
        """Return the policy by which the source is read, and refuse what cannot be promised for any table.

        Where the promise counts every cell by itself (`Guarantee.cell_by_cell`), the policy states so: then no cell
        is read by the type of its column, and no column is judged by its cells. Rules on rows, and spikes, are left to
        methods that draw rows by them.

        Parameters
        ----------
        typed : bool
            Whether the source may have types of its own: then a column of which nothing is declared may be booleans,
            and the promise is refused, if it is not, when the types are known.

        Raises
        ------
        PolicyError, ParameterError
            The method cannot make its promise under this policy, or has a rule of its own (`check_rows`) against it.
        """
        if getattr(self.method, "needs_declared_target", False):
            self._refuse_undeclared_target()
        if hasattr(self.method, "check_rows"):
            self.method.check_rows()
        draws_by_rules = getattr(self.method, "keeps_rules", False)
        policy = self.policy if draws_by_rules else self.policy.without_rules()
        if self.domains_min_people is not None:  # the promise is known when the domains are
            return replace(policy, cell_by_cell=False)
        promised = self.method.guarantee
        try:
            if promised(policy).cell_by_cell:
                return replace(with_truth_values(policy), cell_by_cell=True)
        except PolicyError:
            counted = with_truth_values(policy)
            try:
                promised(with_truth_values(counted, counted.columns) if typed else counted)
            except PolicyError:
                promised(counted)  # what is wrong with the policy as it is
                raise
            return replace(counted, cell_by_cell=True)
        return replace(policy, cell_by_cell=False)

    def _refuse_undeclared_target(self) -> None:
        """Refuse to take a column for the target of a method under which its label leaves unchanged."""
        if self.policy.target is None and not self.policy.without_target:
            raise ChoiceError(
                f"method {self.method.name!r} releases the target as it is, and none is declared",
                f"{option('target', 'NAME')}, or {option('no_target', True)} where the method needs none",
            )

    def randomness(self) -> Randomness:
        """Return the source of all randomness of one release: new words at each call, unless a seed is given."""
        return Randomness.secure() if self.seed is None else Randomness.seeded(self.seed)
