# SPDX-License-Identifier: Apache-2.0
"""The owner's answers before a policy is drafted: recipients, the person of a row, secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from anonkit.errors import ChoiceError, PolicyError, did_you_mean
from anonkit.policy.column_declarations import Role

RECIPIENTS = ("anyone", "named", "secure")
"""Anyone who downloads it; a named institute under contract; a secure facility where every output is checked."""
NOBODY = "none"
"""The answer that no column is meant."""


@dataclass(frozen=True, kw_only=True)
class GuessedRoles:
    """The guesses on a table before the owner answers."""

    roles: Mapping[str, Role]
    """Of every column, in the order of the table."""
    secrets: Sequence[str]
    """Columns that are secrets by their names."""
    persons: Sequence[str]
    """Columns that may identify the person of a row."""

    def of(self, role: Role) -> list[str]:
        """Return the columns of a role."""
        return [name for name, guessed in self.roles.items() if guessed is role]


@dataclass(frozen=True, kw_only=True)
class OwnerAnswers:
    """The owner's answers. They go before guesses."""

    recipient: str = "named"
    """One of `RECIPIENTS`."""
    unit: Sequence[str] = ()
    """Columns that together identify the person of a row; none: rows are of different people."""
    identifiers: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    target: str | None = None
    """None: nothing is predicted."""
    keep: Sequence[str] = ()
    """Columns that have to stay in the table; under noise all do."""
    sample: float | None = None
    """Share of the population that is in the table, in (0, 1); None: all of it, or unknown."""
    dataset: str | None = None
    """Name under which all releases of these people add up."""

    @property
    def needs_domains(self) -> bool:
        """True where differential privacy is recommended, whose columns need public domains."""
        return self.recipient == "anyone"

    def roles(self, guessed: Mapping[str, Role]) -> dict[str, Role]:
        """Return the role of every column.

        Raises
        ------
        PolicyError
            A column does not exist, or has two roles that exclude each other.
        """
        given: dict[str, Role] = {}
        answers: tuple[tuple[Role, Iterable[str]], ...] = (
            (Role.UNIT, self.unit),
            (Role.IDENTIFIER, self.identifiers),
            (Role.TARGET, () if self.target is None else (self.target,)),
            (Role.SENSITIVE, self.sensitive),
        )
        for role, names in answers:
            for name in names:
                refuse_unknown(name, guessed)
                if name in given and {given[name], role} != {Role.TARGET, Role.SENSITIVE}:
                    raise PolicyError(f"column {name!r} cannot be both {given[name]} and {role}", "name it once")
                given.setdefault(name, role)
        for name in self.keep:
            refuse_unknown(name, guessed)
            if given.get(name, guessed[name]) in (Role.IDENTIFIER, Role.UNIT):
                raise ChoiceError(f"column {name!r} says who somebody is and cannot be kept", "leave it out")
        answered = (Role.TARGET, Role.UNIT, Role.SENSITIVE)
        rest = {name: Role.QUASI_IDENTIFIER if role in answered else role for name, role in guessed.items()}
        return {**rest, **given}


def refuse_unknown(name: str, known: Iterable[str]) -> None:
    """Refuse a name that is of no column.

    Raises
    ------
    PolicyError
    """
    names = list(known)
    if name not in names:
        raise PolicyError(f"column {name!r} is not in the table", did_you_mean(name, names))
