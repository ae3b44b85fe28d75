# SPDX-License-Identifier: Apache-2.0
"""Public rules that every row of a table keeps: a column that follows from another, and values that never meet.

They are declared, not learned: whoever draws rows keeps them at no privacy loss, since nothing of a table is in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from anonkit.documents import ParamsPart, named, read
from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.domains.number_bins import Categories, Grid, NumberBins
from anonkit.errors import ParameterError, refusing_damage

Domain = Categories | Grid
Label = str | float | None
FROM_POLICY, FROM_DATA = "policy", "data"
_MOST_STEPS = 200_000
"""Values that a search for a possible row looks at."""


_DAMAGED = "a rule of the table lacks a key or has one of the wrong kind"


@dataclass(frozen=True, kw_only=True)
class Determination(ParamsPart):
    """A column, one that follows from it, and the pairs of their values."""

    of: str = field(metadata=named("from"))
    name: str = field(metadata=named("to"))
    pairs: tuple[tuple[Any, Any], ...] = field(metadata=named("map"))


@dataclass(frozen=True, kw_only=True)
class Follows(ParamsPart, keys=("determines", "source"), made_by="of_pairs", damage=_DAMAGED):
    """A column whose cell the cell of another one determines.

    Raises
    ------
    ParameterError
        The column is the same, there is no pair, or a value of the other column is listed twice.
    """

    name: str
    of: str
    pairs: tuple[tuple[Label, Label], ...]
    """A value of the other column, and of this one; None for missing."""
    source: str = FROM_POLICY

    def __post_init__(self) -> None:
        firsts = [first for first, _ in self.pairs]
        if self.name == self.of or not self.pairs or len(set(firsts)) < len(firsts):
            raise ParameterError("a column follows from another one, whose values are listed once each")

    @property
    def words(self) -> str:
        """The rule as one reads it."""
        return f"{self.of} determines {self.name}"

    def codes(self, of: Domain, own: Domain) -> IntArray:
        """Return the code of this column for each code of the other, shape (of.size,); missing for what is not listed.

        Raises
        ------
        ParameterError
            A value is of no domain, or is not listed where this column is never missing.
        """
        known = {_key(label): at for at, label in enumerate(of.decode(np.arange(of.size)).tolist())}
        out = np.full(of.size, own.size - 1 if own.has_missing else -1, dtype=np.int64)
        values = {_key(label): at for at, label in enumerate(own.decode(np.arange(own.size)).tolist())}
        for first, second in self.pairs:
            if _key(first) in known and _key(second) in values:
                out[known[_key(first)]] = values[_key(second)]
            elif _key(first) in known:
                raise ParameterError(f"a value that column {self.name!r} follows to is not in its domain")
        if (out < 0).any():
            raise ParameterError(f"the rule does not say what follows from each value of column {self.of!r}")
        return out

    @property
    def determines(self) -> Determination:
        """The columns and pairs of the rule."""
        return Determination(of=self.of, name=self.name, pairs=self.pairs)

    @classmethod
    def of_pairs(cls, *, determines: Determination, source: str) -> Self:
        """Return the rule of these columns and pairs."""
        return cls(name=determines.name, of=determines.of, pairs=determines.pairs, source=source)


@dataclass(frozen=True, kw_only=True)
class Never(ParamsPart, keys=("never=values", "source"), damage=_DAMAGED):
    """Values of two or more columns that no row has together: of categories names, of numbers a range.

    Raises
    ------
    ParameterError
        Fewer than two columns are named, or a range is none.
    """

    values: Mapping[str, tuple[Any, ...]]
    """Names of categories, any of which is meant, or both ends of a range, both included."""
    source: str = FROM_POLICY

    def __post_init__(self) -> None:
        odd = any(not own for own in self.values.values())
        odd = odd or any(not _is_range(own) and not _are_names(own) for own in self.values.values())
        if len(self.values) < 2 or odd:
            raise ParameterError("a rule names values of two columns at least that never meet")

    @property
    def words(self) -> str:
        """The rule as one reads it."""
        parts = [
            f"{name} {own[0]:g} to {own[1]:g}" if _is_range(own) else f"{name} {' or '.join(map(str, own))}"
            for name, own in self.values.items()
        ]
        return f"never {' with '.join(parts)}"

    def mask(self, name: str, domain: Domain) -> BoolArray:
        """Return a mask of the codes that are meant, shape (size,); of numbers the cells that are shown so.

        Raises
        ------
        ParameterError
            A name is none of the categories, or a range is given for categories, or the reverse.
        """
        values = self.values[name]
        numbers = domain.grid if isinstance(domain, NumberBins) else domain
        if isinstance(numbers, Grid) != _is_range(values):
            kind = "a range of numbers" if isinstance(numbers, Grid) else "names of categories"
            raise ParameterError(f"the rule needs {kind} of column {name!r}")
        if isinstance(numbers, Grid):
            low, high = (float(value) for value in values)
            shown = numbers.midpoints()
            return np.append((shown >= low) & (shown <= high), np.zeros(int(domain.has_missing), dtype=bool))
        known: dict[object, int] = {
            label: at for at, label in enumerate(domain.decode(np.arange(domain.size)).tolist())
        }
        if not set(values) <= known.keys():
            raise ParameterError(f"the rule names a value of column {name!r} that is not in its domain")
        out = np.zeros(domain.size, dtype=bool)
        out[[known[value] for value in values]] = True
        return out


@dataclass(frozen=True, kw_only=True)
class PublicRules:
    """The rules of a table.

    Raises
    ------
    ParameterError
        Two rules say what a column follows from, or it follows from one that follows itself.
    """

    follows: tuple[Follows, ...] = ()
    never: tuple[Never, ...] = ()

    def __post_init__(self) -> None:
        names = [rule.name for rule in self.follows]
        if len(set(names)) < len(names) or {rule.of for rule in self.follows} & set(names):
            raise ParameterError("a column follows from one other column, which follows from none")

    def __bool__(self) -> bool:
        return bool(self.follows or self.never)

    @property
    def determined(self) -> dict[str, Follows]:
        """The columns that follow from others."""
        return {rule.name: rule for rule in self.follows}

    @property
    def words(self) -> tuple[str, ...]:
        """All rules as one reads them."""
        return (*(rule.words for rule in self.follows), *(rule.words for rule in self.never))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that values must not meet in, with those that they follow from in their place, sorted."""
        of = self.determined
        return tuple(sorted({of[name].of if name in of else name for rule in self.never for name in rule.values}))

    def masks(self, domains: Mapping[str, Domain]) -> list[dict[str, BoolArray]]:
        """Return for each `Never` which codes of which columns must not meet.

        A column that follows from another one is represented by that one.

        Parameters
        ----------
        domains : mapping of str to domain
            Of all columns that the rules name.
        """
        out = []
        for rule in self.never:
            masks: dict[str, BoolArray] = {}
            for name in rule.values:
                mask, of = rule.mask(name, domains[name]), name
                if name in self.determined:
                    of = self.determined[name].of
                    mask = mask[self.determined[name].codes(domains[of], domains[name])]
                masks[of] = masks[of] & mask if of in masks else mask
            out.append(masks)
        return out

    def completed(self, domains: Mapping[str, Domain]) -> PublicRules:
        """Return the rules that also say what follows from a missing cell, where a column is never missing: its first.

        Parameters
        ----------
        domains : mapping of str to domain
            Of the columns that follow from others, and of these.
        """
        follows = []
        for rule in self.follows:
            own, lacks = domains[rule.name], all(label is not None for label, _ in rule.pairs)
            if domains[rule.of].has_missing and not own.has_missing and lacks:
                (first,) = own.decode(np.zeros(1, dtype=np.int64)).tolist()
                rule = replace(rule, pairs=(*rule.pairs, (None, first)))
            follows.append(rule)
        return replace(self, follows=tuple(follows))

    @property
    def listed(self) -> tuple[Follows | Never, ...]:
        """The rules in the order of the params."""
        return (*self.follows, *self.never)

    @classmethod
    def stated(cls, raw: Any) -> Self:
        """Return the rules that params list.

        Raises
        ------
        ReleaseFormatError
            They are none, or contradict each other.
        """
        with refusing_damage(_DAMAGED, contradictions=True):
            every = read(tuple[Follows | Never, ...], raw)
            return cls(
                follows=tuple(rule for rule in every if isinstance(rule, Follows)),
                never=tuple(rule for rule in every if isinstance(rule, Never)),
            )


def possible_row(masks: Sequence[Mapping[str, BoolArray]], may_be: Mapping[str, BoolArray]) -> dict[str, int] | None:
    """Return codes of the columns of rules that keep all of them, the fewest conditions met first; None: no such.

    Parameters
    ----------
    masks : sequence of mapping
        For each rule the codes that must not meet.
    may_be : mapping of str to bool array
        The codes that each column may have.

    Raises
    ------
    ParameterError
        The rules are too many for the search.
    """
    columns, steps = list(may_be), 0
    choices: list[list[tuple[int, frozenset[int]]]] = []
    for name in columns:
        of_rules = [at for at, rule in enumerate(masks) if name in rule]
        codes = np.flatnonzero(may_be[name])
        met = np.array([masks[at][name][codes] for at in of_rules], dtype=bool).reshape(len(of_rules), codes.size)
        _, firsts = np.unique(met, axis=1, return_index=True)
        alike = [(int(codes[at]), frozenset(np.array(of_rules)[met[:, at]].tolist())) for at in sorted(firsts.tolist())]
        choices.append(sorted(alike, key=lambda one: len(one[1])))
    left = [len(rule) for rule in masks]

    def found(depth: int) -> dict[str, int] | None:
        nonlocal steps
        if depth == len(columns):
            return {}
        for code, rules in choices[depth]:
            steps += 1
            if steps > _MOST_STEPS:
                raise ParameterError("the rules on values that never meet are too many to be followed")
            for at in rules:
                left[at] -= 1
            rest = found(depth + 1) if all(left[at] for at in rules) else None
            for at in rules:
                left[at] += 1
            if rest is not None:
                return {columns[depth]: code, **rest}
        return None

    return found(0)


def met_together(masks: Sequence[Mapping[str, BoolArray]], codes: Mapping[str, IntArray]) -> BoolArray:
    """Return a mask of the rows that break a rule, shape (n_rows,)."""
    n_rows = next(iter(codes.values())).size if codes else 0
    out = np.zeros(n_rows, dtype=bool)
    for rule in masks:
        here = np.ones(n_rows, dtype=bool)
        for name, mask in rule.items():
            here &= mask[codes[name]]
        out |= here
    return out


def _key(label: object) -> object:
    """Return a label by which equal ones are found: numbers by value, NaN as missing."""
    if isinstance(label, float) and np.isnan(label):
        return None
    return float(label) if isinstance(label, int | float) and not isinstance(label, bool) else label


def _is_range(values: object) -> bool:
    return (
        isinstance(values, tuple)
        and len(values) == 2
        and all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
        and values[0] <= values[1]
    )


def _are_names(values: object) -> bool:
    return isinstance(values, tuple) and all(isinstance(one, str) for one in values) and len(set(values)) == len(values)
