# SPDX-License-Identifier: Apache-2.0
"""Several searches in place of one where groups are large: the recoding that explains most of the guide is taken.

With large k few refinements fit, and what the first ones spend decides the rest. How much a column's importance and a
suppressed row count for is a matter of judgement then, and trying some values of both costs little, since every search
ends after a few steps.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from anonkit.k_anonymity.search.equivalence import AtLeastK, Requirement
from anonkit.k_anonymity.search.top_down_specialization import (
    IMPORTANCE_EXPONENT,
    SUPPRESSION_CHARGE,
    Specialization,
    specialize,
)

FROM_K = 40
"""Rows (people) of a group from which on there are several starts."""
STARTS = (
    (IMPORTANCE_EXPONENT, SUPPRESSION_CHARGE),
    (1.0, SUPPRESSION_CHARGE),
    (0.0, SUPPRESSION_CHARGE),
    (IMPORTANCE_EXPONENT, 1.0),
)
"""Exponent of importance and charge for a suppressed row of each; the first is the only one where groups are small."""


def best_specialization(
    columns: Any, probabilities: Any, importance: Any, requirements: list[Requirement], *given: Any, **more: Any
) -> Specialization:
    """Return the best of some searches, the first of several that explain as much; parameters as of `specialize`.

    The guide are out-of-bag probabilities: no row's own label is among what decides.
    """
    k = max((one.k for one in requirements if isinstance(one, AtLeastK)), default=1)
    search = partial(specialize, columns, probabilities, importance, requirements, *given, **more)
    found = [search(exponent=exponent, charge=charge) for exponent, charge in STARTS[: None if k >= FROM_K else 1]]
    return max(found, key=lambda result: result.explained)
