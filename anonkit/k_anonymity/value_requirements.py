# SPDX-License-Identifier: Apache-2.0
"""Conditions on the values of sensitive columns in every equivalence class, from the rules of these columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import IntArray
from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.class_values import CountedPeople
from anonkit.k_anonymity.search.equivalence import (
    AlphaK,
    CapByValue,
    DistinctL,
    EntropyL,
    RecursiveCL,
    Requirement,
    TCloseness,
)
from anonkit.k_anonymity.sensitive_rules import SensitiveRule


class Holders(TypedDict):
    """The holders of the values of a sensitive attribute, rows or people, in the form that requirements take."""

    missing: int | None
    units: NDArray[np.int64] | None
    counted: CountedPeople | None


def diversity_requirements(
    rules: Sequence[SensitiveRule],
    sensitive: Sequence[CodedColumn],
    *,
    units: IntArray | None = None,
    counted: Sequence[CountedPeople] | None = None,
) -> list[Requirement]:
    """Return the requirements on the sensitive values of every equivalence class.

    Parameters
    ----------
    rules, sensitive : sequence of SensitiveRule, sequence of CodedColumn
        Requirements on each column, and its values as they count.
    units : array, optional
        Person of each entry: then people hold values, not rows.
    counted : sequence of CountedPeople, optional
        People of each entry, for each column, where an entry is all rows of a class with one value.
    """
    out: list[Requirement] = []
    for at, (rule, column) in enumerate(zip(rules, sensitive, strict=True)):
        asked, values, ends = rule.asked, column.codes.astype(np.int64), rule.ends(column)
        missing = None if rule.missing_is_value else column.missing
        held = Holders(missing=missing, units=units, counted=None if counted is None else counted[at])
        if asked.l is not None:
            out.append(DistinctL(values, asked.l, ends=ends, **held))
        if asked.entropy_l is not None:
            out.append(EntropyL(values, asked.entropy_l, ends=ends, **held))
        if asked.recursive is not None:
            out.append(RecursiveCL(values, *asked.recursive, ends=ends, **held))
        if asked.t is not None:
            out.append(TCloseness(values, asked.t, column.ordered, **held))
        if asked.alpha is not None and asked.alpha < 1:
            out.append(AlphaK(values, asked.alpha, ends=ends, **held))
        if rule.caps is not None:
            out.append(CapByValue(values, rule.caps.of(column), ends=ends, **held))
    return out
