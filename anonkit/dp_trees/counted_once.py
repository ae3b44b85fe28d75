# SPDX-License-Identifier: Apache-2.0
"""Check before any noise is drawn that every row is counted as often as it is charged for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import GuaranteeError

Totals = NDArray[np.integer[Any]] | int


def refuse_other_totals(what: str, found: Totals, wanted: Totals) -> None:
    """Refuse to go on when counts do not add up to the rows they are of.

    Parameters
    ----------
    what : str
        What was counted, in words.
    found, wanted : int or int array of one shape
        What the counts add up to, and the rows.

    Raises
    ------
    GuaranteeError
        They differ. No figure is in the message.

    Privacy
    -------
    The sums are the same for every table: it is the code that is tested, and no table decides.
    """
    if not np.array_equal(found, wanted):
        raise GuaranteeError(
            f"{what}: rows were counted more or less often than the budget accounts for",
            "a bug in the method; nothing was written",
        )
