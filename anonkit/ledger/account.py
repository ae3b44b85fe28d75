# SPDX-License-Identifier: Apache-2.0
"""The account of a release: its ledger, the dataset's name, and the dataset's budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from anonkit.bundle.stored_release import Place
from anonkit.errors import ParameterError
from anonkit.ledger.store import NAME
from anonkit.parameters import check_integer, check_number
from anonkit.redaction import redacted

_OPEN = ("dataset", "budget", "accept_joint_k")
"""Fields of an account that None leaves open."""


class Where(Enum):
    """Where a ledger is looked for when no path is given."""

    BESIDE = "beside the output"


@dataclass(frozen=True, kw_only=True)
class Account:
    """Whose budget a release is charged to.

    Raises
    ------
    ParameterError
        A budget is not above 0; a joint k is accepted that is no group.
    """

    ledger: str | Path | Where | None = Where.BESIDE
    """The file in which releases and their loss are kept; None: none is kept."""
    dataset: str | None = None
    """The owner's name for the data; None: the policy's, else the ledger looks for the same rows."""
    budget: float | None = None
    """Total ε allowed for the dataset from now on, in (0, inf]."""
    accept_joint_k: int | None = None
    """Smallest group a k-anonymous release may form with earlier ones, 1 or more; None: what the policy says."""

    def __post_init__(self) -> None:
        if self.accept_joint_k is not None:
            check_integer("accept_joint_k", self.accept_joint_k, 1, hint="1 accepts every joint view")
        if self.budget is not None:
            hint = "total epsilon allowed for the dataset"
            check_number("budget", self.budget, 0, math.inf, open_low=True, hint=hint)
        # the name stands in messages, and in files of the release: what looks like a password in it goes
        object.__setattr__(self, "dataset", None if self.dataset is None else redacted(self.dataset))

    def over(self, other: Account) -> Account:
        """Return the account with what it leaves open taken from another one; the ledger is its own."""
        left_open = {name: getattr(other, name) for name in _OPEN if getattr(self, name) is None}
        return replace(self, **left_open)

    @property
    def path(self) -> Path | None:
        """Where the ledger is, once that is known (`beside`); None: none is kept."""
        return Path(self.ledger) if isinstance(self.ledger, str | Path) else None

    def beside(self, place: Place | None) -> Account:
        """Return the account with its ledger found: by default the one that stands beside the output.

        Raises
        ------
        ParameterError
            A budget is given, and no ledger is kept.
        """
        ledger = self.ledger
        if ledger is Where.BESIDE:
            ledger = None if place is None else ledger_beside(place)
        if self.budget is not None and ledger is None:
            raise ParameterError("a budget needs a ledger", "--ledger PATH, or an output beside which one can stand")
        return replace(self, ledger=ledger)


def ledger_beside(place: Place) -> Path:
    """Return where the default ledger of a release stands: beside its files, or beside its folder."""
    handed_out = place.folder.name == place.stem  # OUT/ is handed out as a whole
    return (place.folder.absolute().parent if handed_out else place.folder) / NAME
