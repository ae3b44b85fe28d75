# SPDX-License-Identifier: Apache-2.0
"""Which ledger a release is booked in, under whose name, and what that dataset may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from anonkit.bundle.stored_release import Place
from anonkit.errors import ParameterError
from anonkit.ledger.store import NAME
from anonkit.redaction import redacted


class Where(Enum):
    """Where a ledger is looked for when no path is given."""

    BESIDE = "beside the output"


@dataclass(frozen=True, kw_only=True)
class Account:
    """Whose budget a release is charged to."""

    path: Path | None = None
    """The ledger; None: none is kept."""
    dataset: str | None = None
    """The owner's name for the data; None: the ledger looks for the same rows."""
    budget: float | None = None
    """Total ε allowed for the dataset from now on, in (0, inf]."""
    accept_joint_k: int | None = None
    """Smallest group a k-anonymous release may form with earlier ones, 1 or more; None: what the policy says."""

    @classmethod
    def of(
        cls,
        ledger: str | Path | Where | None,
        place: Place | None,
        dataset: str | None,
        budget: float | None,
        accept_joint_k: int | None = None,
    ) -> Account:
        """Find the ledger of a release.

        Raises
        ------
        ParameterError
            A budget is given and no ledger is kept, or it is not above 0; a joint k is accepted that is no group.
        """
        if accept_joint_k is not None and accept_joint_k < 1:
            raise ParameterError(f"accept_joint_k ({accept_joint_k}) must be 1 or more", "1 accepts every joint view")
        if ledger is Where.BESIDE:
            path = None if place is None else ledger_beside(place)
        else:
            path = None if ledger is None else Path(ledger)
        if budget is not None and (math.isnan(budget) or budget <= 0):
            raise ParameterError(f"budget ({budget:g}) must be in (0, inf]", "total epsilon allowed for the dataset")
        if budget is not None and path is None:
            raise ParameterError("a budget needs a ledger", "--ledger PATH, or an output beside which one can stand")
        return cls(
            path=path,
            dataset=None if dataset is None else redacted(dataset),
            budget=budget,
            accept_joint_k=accept_joint_k,
        )


def ledger_beside(place: Place) -> Path:
    """Return where the default ledger of a release stands: beside its files, or beside its folder."""
    handed_out = place.folder.name == place.stem  # OUT/ is handed out as a whole
    return (place.folder.absolute().parent if handed_out else place.folder) / NAME
