# SPDX-License-Identifier: Apache-2.0
"""The privacy model: the conditions on every equivalence class, k-anonymity and diversity of sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from anonkit.domains.coded_columns import CodedColumn
from anonkit.errors import ParameterError, PolicyError, option
from anonkit.k_anonymity.search.equivalence import AtLeastK, Requirement, check_k
from anonkit.parameters import check_number, parameter, python_number, settle_numbers
from anonkit.policy.column_declarations import Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import SURROGATE
from anonkit.promises.anonymous_classes import (
    ALL_ROWS,
    INDEPENDENT,
    ONE_ROW,
    CountedCandidate,
    CountedKey,
    Diversity,
    KAnonymity,
)

_ABOUT_ROWS = (Missing.DROP, Missing.ERROR)
_WHOSE_ROWS = (Role.QUASI_IDENTIFIER, Role.UNIT, Role.IDENTIFIER, Role.WEIGHT)
"""Roles of columns whose missing cells leave rows out, or of which nothing is released."""
_ONE_ROW = ("An attacker knows one row of a person, not several of them.",)


@dataclass(frozen=True, kw_only=True)
class AnonymityModel:
    """The privacy model: k-anonymity with optional diversity, and the parameters that every k-anonymous method has.

    k counts rows, or distinct people where the policy has a unit column. The diversity models bind every column of role
    sensitive, the target included if it is declared so; a column may ask for an l, t or alpha of its own. A sensitive
    column without requirements has a cap on confidence by value (`anonkit.k_anonymity.sensitive_rules`). A release
    that a search proposes is checked against the model as it is, so nothing here depends on the search being right.

    Raises
    ------
    ParameterError
        A parameter is outside its range or malformed.

    Privacy
    -------
    A syntactic model: it bounds the size and the diversity of equivalence classes, not what an attacker with further
    knowledge can infer. It does not compose: the classes of two releases of one table may intersect in fewer than k
    rows (`anonkit.ledger.intersection_check`).

    References
    ----------
    Sweeney 2002 (k-anonymity); Machanavajjhala et al., TKDD 2007 (distinct, entropy and recursive l-diversity); Li, Li,
    Venkatasubramanian, ICDE 2007 (t-closeness); Wong et al., KDD 2006 ((alpha, k)-anonymity).
    """

    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"k": 5})

    k: int = parameter(
        default=10, range="[2, inf)", help="smallest equivalence class allowed, in rows (people with a unit column)"
    )
    l: float | None = parameter(  # noqa: E741 - the field's own letter
        default=None,
        range="[1, inf)",
        help="distinct l-diversity: different values of each sensitive attribute in every class",
    )
    entropy_l: float | None = parameter(
        default=None,
        range="[1, inf)",
        help="entropy l-diversity: exp(entropy) of each sensitive attribute in every class",
    )
    recursive: str | None = parameter(
        default=None, range="C,L", help="recursive (c, l)-diversity, such as 3,2: commonest < c x (l-th and rarer)"
    )
    t: float | None = parameter(
        default=None, range="[0, 1]", help="t-closeness: earth mover's distance of every class from the whole release"
    )
    alpha: float | None = parameter(
        default=None,
        range="(0, 1]",
        help="(alpha, k)-anonymity: largest share of one sensitive value in any class; 1: no bound, no cap by value",
    )

    def __post_init__(self) -> None:
        settle_numbers(self)
        object.__setattr__(self, "recursive", _as_text(self.recursive))
        check_k(self.k)
        for name, value in (("l", self.l), ("entropy_l", self.entropy_l)):
            if value is not None:
                check_number(name, value, 1, np.inf, open_high=True)
        if self.t is not None:
            check_number("t", self.t, 0, 1)
        if self.alpha is not None:
            check_number("alpha", self.alpha, 0, 1, open_low=True)
        check_number("max_suppression", getattr(self, "max_suppression", 0.0), 0, 1)
        self.diversity  # noqa: B018 - parses `recursive`

    @property
    def diversity(self) -> Diversity:
        """Diversity required of the sensitive values."""
        return Diversity(
            l=self.l, entropy_l=self.entropy_l, recursive=_recursive(self.recursive), t=self.t, alpha=self.alpha
        )

    @property
    def suppression_limit(self) -> float:
        """Largest share of rows that may be left out, in [0, 1]; 0 for methods without `max_suppression`."""
        return float(getattr(self, "max_suppression", 0.0))

    def required_of(self, policy: Policy) -> dict[str, Diversity]:
        """Return the diversity required of each sensitive column; nothing where it has a cap instead."""
        of_columns = _of_columns(policy)
        return {name: self.diversity.with_own(of_columns.get(name, Diversity())) for name in policy.sensitive}

    def guarantee(self, policy: Policy) -> KAnonymity:
        """State the promise: k-anonymity and the required diversity.

        Raises
        ------
        PolicyError
            Diversity is required and no column is sensitive; a column that is no quasi-identifier declares that its
            missing cells drop their row, or are refused, which is done for quasi-identifiers alone.
        """
        for name, column in policy.columns.items():
            if column.missing in _ABOUT_ROWS and column.role not in _WHOSE_ROWS:
                raise PolicyError(
                    f"column {name!r}: missing = {str(column.missing)!r} is for quasi-identifiers, which this column "
                    f"is not",
                    "leave such rows out of the table before",
                )
        if self.diversity.required() and policy.columns and not policy.sensitive:
            requirements = ", ".join(self.diversity.required())
            raise PolicyError(
                f"{requirements}: no column is sensitive",
                f"{option('sensitive', ['NAME'])}; the target may be sensitive too",
            )
        rows = policy.person_rows
        of_columns = _of_columns(policy)
        whole_set = rows is not None and rows.whole_set
        if whole_set and (self.diversity.required() or of_columns):
            every = dict.fromkeys(each for own in (self.diversity, *of_columns.values()) for each in own.required())
            raise PolicyError(
                f"{', '.join(every)}: not covered where k holds for a person's whole set of rows",
                "whole_person = false counts the sensitive values among the people who share one row",
            )
        return KAnonymity(
            k=self.k,
            quasi_identifiers=policy.quasi_identifiers,
            sensitive=policy.sensitive,
            missing_is_value=policy.missing_is_value,
            diversity=self.diversity,
            of_columns=of_columns,
            capped=tuple(name for name, own in self.required_of(policy).items() if not (whole_set or own.required())),
            unit=policy.unit,
            rows_known=None if rows is None else ALL_ROWS if rows.whole_set else ONE_ROW,
            candidates=tuple(CountedCandidate(columns=candidate.columns) for candidate in policy.candidates),
            independent_rows=policy.independent_rows,
            rows_in_runs=policy.rows_in_runs,
            keys=tuple(CountedKey(columns=each.columns, k=each.k) for each in policy.keys),
            households=policy.households,
            relative=policy.relative,
            surrogate=SURROGATE if rows is not None and rows.surrogate else None,
            weight=None if policy.weight is None else (policy.weight.name, str(policy.weight.weights)),
            assumptions=(
                "The quasi-identifiers are all that an attacker knows about a person.",
                *([INDEPENDENT] if policy.independent_rows else ()),
                *(_ONE_ROW if rows is not None and not rows.whole_set else ()),
            ),
        )


def _of_columns(policy: Policy) -> dict[str, Diversity]:
    """Return the requirements of sensitive columns on their own values, of those that have one."""
    columns = ((name, policy.column(name)) for name in policy.sensitive)
    required = {name: Diversity(l=column.l, t=column.t, alpha=column.alpha) for name, column in columns}
    return {name: own for name, own in required.items() if own.required()}


def _as_text(recursive: object) -> str | None:
    """Return c and l as they are written on the command line; in Python they may be a pair of numbers."""
    if recursive is None or isinstance(recursive, str):
        return recursive
    numbers = [python_number(one) for one in recursive] if isinstance(recursive, list | tuple) else [recursive]
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in numbers):
        raise ParameterError("recursive must be C,L", "for instance 3,2, or (3, 2) in Python")
    return ",".join(str(one) for one in numbers)


def _recursive(text: str | None) -> tuple[float, int] | None:
    if text is None:
        return None
    try:
        c, l = text.split(",")  # noqa: E741
        pair = float(c), int(l)
    except ValueError:
        raise ParameterError(f"recursive ({text}) must be C,L", "for instance 3,2") from None
    if not pair[0] > 0 or pair[1] < 2:
        raise ParameterError(f"recursive ({text}) must have c in (0, inf) and l in [2, inf)")
    return pair


def candidate_requirements(k: int, candidates: Sequence[CodedColumn]) -> list[Requirement]:
    """Return that every class holds k different values of each candidate for the person; a missing one counts nothing.

    Parameters
    ----------
    candidates : sequence of CodedColumn
        Keys of each candidate, row by row or entry by entry.
    """
    return [AtLeastK(k, column.codes.astype(np.int64), column.missing) for column in candidates]
