# SPDX-License-Identifier: Apache-2.0
"""Codes of synthetic rows as released: changed to keep public rules, and written as cells of a column.

Owner and receiver write codes alike, with random words of their own; nothing of a table is in them, at no privacy loss.

Numbers are known by their cell, and show one of its places, all equally likely. The middle of each cell alone would
show most of the values that are in a cell never, and one of them too often.

A model that knows pairs of columns at best makes some rows that cannot be. Such a row gives one of its values to
another row of its class and takes that row's, where both keep the rules then: how often each value occurs stays as it
was. Only where no such row is left it becomes like another row in the columns of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.public_rules import PublicRules, met_together, possible_row
from anonkit.errors import ParameterError

PLACES_IN_A_CELL = 16
"""Numbers are shown at the middles of so many equal parts of a cell; of multiples of a step at most at each of them."""


class Words(Protocol):
    """Random words, secret or not."""

    def below(self, bounds: IntArray) -> IntArray:
        """Return, for each bound, a uniform integer in [0, bound)."""
        ...


def shown_domain(domain: Categories | Grid) -> Categories | Grid:
    """Return the domain in which the cells of a column are shown: of numbers the places in them."""
    return domain.finer(PLACES_IN_A_CELL) if isinstance(domain, Grid) else domain


def places_of_cells(cells: IntArray, domain: Categories | Grid, shown: Categories | Grid, words: Words) -> IntArray:
    """Return a uniform place in the cell of each row, missing as such, shape (n_rows,).

    Parameters
    ----------
    cells : int64 array, shape (n_rows,)
        Codes of the domain.
    domain : Categories or Grid
        In which the column was counted.
    shown : Categories or Grid
        `shown_domain` of it; or the domain itself, whose cells stay as they are.
    words : Words
    """
    if shown == domain or not isinstance(domain, Grid) or not isinstance(shown, Grid):
        return cells
    starts = _starts(domain, shown)
    known = np.minimum(cells, domain.cells - 1)
    within = words.below(np.diff(np.append(starts, shown.cells))[known])
    return np.asarray(np.where(cells < domain.cells, starts[known] + within, shown.cells), dtype=np.int64)


def cells_of_places(domain: Categories | Grid, shown: Categories | Grid) -> IntArray:
    """Return the code of the domain for each code of what is shown, missing included, shape (shown.size,)."""
    if not isinstance(domain, Grid) or not isinstance(shown, Grid):
        return np.arange(domain.size)
    cells = np.repeat(np.arange(domain.cells), np.diff(np.append(_starts(domain, shown), shown.cells)))
    return np.append(cells, np.full(int(domain.has_missing), domain.cells))


def _starts(domain: Grid, shown: Grid) -> IntArray:
    """Return the first place of each cell, shape (cells,)."""
    if domain.values is None:
        return np.arange(domain.cells, dtype=np.int64) * (shown.cells // domain.cells)
    return shown.encode(domain.edges()[:-1]).astype(np.int64)  # a cell begins where one of the finer cells does


def cells_of_codes(codes: NDArray[np.int64], domain: Categories | Grid) -> pa.Array:
    """Return codes as cells: the representative numbers of bins, whole ones as such, or dictionary-encoded strings."""
    if isinstance(domain, Grid):
        return array_of_numbers(domain.decode(codes), domain)
    return labelled(codes, domain)


def type_of_categories(domain: Categories) -> pa.DataType:
    """Return the type in which the categories of a domain are written."""
    return pa.bool_() if domain.are_truth_values else pa.dictionary(pa.int32(), pa.string())


def type_of_numbers(grid: Grid) -> pa.DataType:
    """Return the type in which the representative numbers of cells of a grid are written: whole ones as such."""
    return pa.int64() if grid.are_integers else pa.float64()


def array_of_numbers(numbers: FloatArray, grid: Grid) -> pa.Array:
    """Return the representative numbers of cells of a grid, NaN for missing: `int64` where all of them are whole."""
    absent = np.isnan(numbers)
    if grid.are_integers:
        numbers = np.where(absent, 0, numbers).astype(np.int64)
    return pa.array(numbers, type_of_numbers(grid), mask=absent)


def labelled(codes: NDArray[np.int64], domain: Categories) -> pa.Array:
    """Return codes as the categories of a domain, dictionary-encoded; truth values as booleans."""
    absent = codes >= len(domain.values)
    if domain.are_truth_values:
        return pa.array(codes == 1, pa.bool_(), mask=absent)
    indices = pa.array(np.where(absent, 0, codes).astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, pa.array(domain.values, pa.string()))


_LEAST = 1e-12
"""Chance of a class at least, so that what is left of them adds up to more than 0."""
_AT_ONCE = 1 << 24
"""Rows times classes that are looked at together."""
_ROUNDS = 60
"""Times that rows which break a rule look for another one; half of them within their class. A bound on time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CodeRules:
    """The rules of a table over the codes in which its rows are drawn.

    Raises
    ------
    ParameterError
        The rules leave no row possible.
    """

    masks: Sequence[Mapping[str, BoolArray]]
    """For each rule the codes that must not meet."""
    may_be: Mapping[str, BoolArray]
    """The codes that each of its columns may have."""
    label: str | None = None
    """A column that is never changed: the class."""

    @classmethod
    def of(
        cls,
        rules: PublicRules,
        domains: Mapping[str, Categories | Grid],
        label: str | None,
        *,
        allowed: Mapping[str, BoolArray] | None = None,
    ) -> CodeRules:
        """Return the rules over domains.

        Parameters
        ----------
        rules : PublicRules
        domains : mapping of str to domain
            Of all columns, those that follow from others too.
        label : str, optional
            The class.
        allowed : mapping of str to bool array, optional
            Codes that a column may have, where not all of them are meant.
        """
        may_be = {}
        for name in rules.columns:
            own = np.ones(domains[name].size, dtype=bool)
            own[-1] = not domains[name].has_missing or own.size == 1
            may_be[name] = own if allowed is None or name not in allowed else allowed[name]
        return cls(masks=rules.masks(domains), may_be=may_be, label=label)

    @property
    def columns(self) -> list[str]:
        """The columns that the rules name, without those that follow from others."""
        return list(self.may_be)

    def check(self, *, of_each_class: bool = True) -> None:
        """Refuse rules that leave no row possible, or, where each class is drawn, none of a class."""
        classes = self.may_be[self.label].size if of_each_class and self.label in self.may_be else 1  # type: ignore[index]
        for at in range(classes if self.masks else 0):
            may_be = self._of_class(at) if of_each_class else self.may_be
            if possible_row(self.masks, may_be) is None:
                raise ParameterError("the rules on values that never meet leave no row possible, or none of a class")

    def _of_class(self, code: int) -> dict[str, BoolArray]:
        """Return the codes that each column may have in rows of a class."""
        if self.label is None or self.label not in self.may_be:
            return dict(self.may_be)
        return {**self.may_be, self.label: np.arange(self.may_be[self.label].size) == code}

    @property
    def names_label(self) -> bool:
        """True where a rule names the class."""
        return self.label in self.may_be

    def forbidden(self, codes: Mapping[str, IntArray], n_classes: int) -> BoolArray:
        """Return a mask of the classes that each row must not have, shape (n_rows, n_classes)."""
        n_rows = next(iter(codes.values())).size
        out = np.zeros((n_rows, n_classes), dtype=bool)
        for rule in self.masks:
            others = {name: mask for name, mask in rule.items() if name != self.label}
            classes = next((rule[name] for name in rule if name == self.label), np.ones(n_classes, dtype=bool))
            out |= met_together([others], codes)[:, np.newaxis] & classes if others else classes[np.newaxis]
        return out

    def repaired(self, codes: Mapping[str, IntArray], classes: IntArray, words: Words) -> dict[str, IntArray]:
        """Return the codes of rows that keep the rules.

        Parameters
        ----------
        codes : mapping of str to int64 array
            Codes of all columns, shape (n_rows,) each. Where the class is among them it is kept as it is; where it is
            not yet drawn, each row is left a class that it may have.
        classes : int64 array, shape (n_rows,)
            Rows of one number change places with each other first.
        words : Words
        """
        out = dict(codes)
        if not self.masks or not classes.size:
            return out
        names = [name for name in self.columns if name in codes]
        has_label = self.label in codes
        broken = self._breaks(has_label)
        for name in names:
            out[name] = codes[name].copy()
        moved = [name for name in names if name != self.label]
        order = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[order], classes, side="left")
        sizes = np.searchsorted(classes[order], classes, side="right") - starts
        bad = broken({name: out[name] for name in names})
        for turn in range(_ROUNDS):
            rows = np.flatnonzero(bad)
            if not rows.size:
                return out
            if turn < _ROUNDS // 2:
                others = order[starts[rows] + words.below(sizes[rows])]
            else:
                others = words.below(np.full(rows.size, bad.size, dtype=np.int64))
            chosen = words.below(np.full(rows.size, len(moved), dtype=np.int64))
            alone = ~bad[others]
            alone[alone] = _firsts(others[alone])
            for at, name in enumerate(moved):
                use = alone & (chosen == at)
                self._exchange(out, bad, names, name, rows[use], others[use], broken)
        self._copied(out, bad, names, moved, classes, words)
        return out

    def _breaks(self, has_label: bool) -> Callable[[Mapping[str, IntArray]], BoolArray]:
        """Return the function that finds the rows that break a rule, with every class where none is drawn yet."""
        if has_label or self.label not in self.may_be:
            return lambda codes: met_together(self.masks, codes)
        n_classes = self.may_be[self.label].size if self.label is not None else 0
        at_once = max(1, _AT_ONCE // max(n_classes, 1))

        def of_every_class(codes: Mapping[str, IntArray]) -> BoolArray:
            n_rows = next(iter(codes.values())).size
            parts = [slice(start, start + at_once) for start in range(0, max(n_rows, 1), at_once)]
            found = [
                self.forbidden({name: own[part] for name, own in codes.items()}, n_classes).all(axis=1)
                for part in parts
            ]
            return np.asarray(np.concatenate(found), dtype=bool)

        return of_every_class

    @staticmethod
    def _exchange(
        out: dict[str, IntArray],
        bad: BoolArray,
        names: Sequence[str],
        name: str,
        rows: IntArray,
        others: IntArray,
        broken: Callable[[Mapping[str, IntArray]], BoolArray],
    ) -> None:
        """Let rows and others change places in a column where both keep the rules then."""
        if not rows.size:
            return
        there = {each: out[each][rows] for each in names}
        here = {each: out[each][others] for each in names}
        there[name], here[name] = here[name], there[name]
        fine = ~broken(there) & ~broken(here)
        rows, others = rows[fine], others[fine]
        out[name][rows], out[name][others] = there[name][fine], here[name][fine]
        bad[rows] = False

    def _copied(
        self,
        out: dict[str, IntArray],
        bad: BoolArray,
        names: Sequence[str],
        moved: Sequence[str],
        classes: IntArray,
        words: Words,
    ) -> None:
        """Make rows that found no other one like a row of their class, or a possible one, in the columns of rules."""
        for own in np.unique(classes[bad]).tolist():
            rows = np.flatnonzero(bad & (classes == own))
            like = np.flatnonzero(~bad & (classes == own))
            if like.size:
                taken = like[words.below(np.full(rows.size, like.size, dtype=np.int64))]
                for name in moved:
                    out[name][rows] = out[name][taken]
                continue
            by_label = rows * 0 if self.label is None or self.label not in names else out[self.label][rows]
            for label in np.unique(by_label).tolist():
                found = possible_row(self.masks, self._of_class(label) if self.label in names else self.may_be)
                if found is None:  # under conditions of a receiver; without any it was checked before
                    raise ParameterError("under these conditions the public rules leave no row possible")
                for name in moved:
                    out[name][rows[by_label == label]] = found[name]


def allowed_chances(chances: FloatArray, forbidden: BoolArray) -> FloatArray:
    """Return the chances of the classes of rows, none for those that a row must not have, shape (n_rows, classes).

    Each row has a class that it may have, since the rules were kept before.
    """
    left = np.where(forbidden, 0.0, np.maximum(chances, _LEAST))
    return np.asarray(left / np.maximum(left.sum(axis=1, keepdims=True), _LEAST), dtype=np.float64)


def _firsts(numbers: IntArray) -> BoolArray:
    """Return a mask of the first occurrence of each number, shape (n,)."""
    out = np.zeros(numbers.size, dtype=bool)
    out[np.unique(numbers, return_index=True)[1]] = True
    return out
