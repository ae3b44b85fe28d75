# SPDX-License-Identifier: Apache-2.0
"""Public rules that every row of a noisy release keeps: read from its params, and counted in its cells.

Rows that would break one have changed places with others: their number follows from the model, and that far the rows
may be from it in the columns of the rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.bundle.data_files import each_part, iter_batches, parts_of
from anonkit.checks.central_params import (
    BoolArray,
    PublicColumn,
    PublicDomain,
    PublicFacts,
    domain_of,
)
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_BATCH_ROWS = 1 << 16
_FALSE_ALARM = 1e-9
"""Probability that sound rows fail one comparison: a convention."""
_FOUND = 'CONDITIONAL: the rule "'
_SOURCES = ("policy", "data")

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class DeterminedColumn:
    """A column that another one determines."""

    name: str
    of: str
    cells: Mapping[Any, Any]
    """Its cell for each cell of the other column that is listed; None for missing."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules that the params of a release state."""

    following: tuple[DeterminedColumn, ...]
    apart: tuple[Mapping[str, Any], ...]
    """Of each rule by column: the categories, or both ends of the range, that never meet."""
    from_data: int
    """Number of them that were found in the table."""

    @property
    def determined(self) -> dict[str, DeterminedColumn]:
        """The columns that follow from others."""
        return {one.name: one for one in self.following}

    @property
    def columns(self) -> set[str]:
        """The columns in which values must not meet, and those that they follow from."""
        of = self.determined
        return {of[name].of if name in of else name for rule in self.apart for name in rule}


def rules_of(params: Mapping[str, Any]) -> Rules:
    """Read the rules of a release; there are none in most.

    Raises
    ------
    ReleaseFormatError
        One is none that anonkit writes.
    """
    following, apart, found = [], [], 0
    for rule in params.get("constraints", []):
        kinds = set(rule) - {"source"}
        if len(rule) != 2 or kinds not in ({"determines"}, {"never"}) or rule["source"] not in _SOURCES:
            raise _odd()
        found += rule["source"] == "data"
        if "never" in rule:
            if len(rule["never"]) < 2 or not all(map(_is_choice, rule["never"].values())):
                raise _odd()
            apart.append({str(name): own for name, own in rule["never"].items()})
            continue
        stated = rule["determines"]
        cells = dict(stated["map"])
        if set(stated) != {"from", "to", "map"} or len(cells) != len(stated["map"]) or stated["from"] == stated["to"]:
            raise _odd()
        following.append(DeterminedColumn(name=str(stated["to"]), of=str(stated["from"]), cells=cells))
    if len({one.name for one in following}) < len(following):
        raise _odd()
    return Rules(following=tuple(following), apart=tuple(apart), from_data=found)


def _odd() -> ReleaseFormatError:
    return ReleaseFormatError("the params state a rule on rows that anonkit does not write")


def _is_choice(own: object) -> bool:
    if not isinstance(own, list) or not own:
        return False
    if all(isinstance(one, str) for one in own):
        return len(set(own)) == len(own)
    return len(own) == 2 and all(type(one) in (int, float) for one in own) and own[0] <= own[1]


def determined_columns(params: Mapping[str, Any]) -> dict[str, PublicColumn]:
    """Return the released columns that were not counted, since they follow from others."""
    names = rules_of(params).determined
    listed = {str(one["name"]): one for one in params["columns"]}
    return {
        name: PublicColumn(name=name, domain=domain_of(listed[name]["domain"], listed[name]["type"]))
        for name in names
        if name in listed
    }


def row_rule_checks(data: Path, params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Check that the rules fit the columns, and count the rows that break one.

    Raises
    ------
    ReleaseFormatError
        A rule is none that anonkit writes.
    """
    if "constraints" not in params:
        return
    rules = rules_of(params)
    own = {**{column.name: column for column in facts.columns}, **determined_columns(params)}
    wrong = _contradictions(rules, own, facts)
    conditions = [text for text in params.get("conditions", []) if str(text).startswith(_FOUND)]
    wrong += abs(len(conditions) - rules.from_data) + (not params["constraints"])
    yield Check(name="constraints", passed=wrong == 0, observed=wrong, required=0)
    if not wrong:
        broken = sum(each_part(partial(_broken_of_part, rules=rules, own=own), parts_of(data)))
        yield Check(name="public_rules", passed=broken == 0, observed=broken, required=0)


def _contradictions(rules: Rules, own: Mapping[str, PublicColumn], facts: PublicFacts) -> int:
    """Count the rules that do not fit the columns of the release."""
    counted, wrong = {column.name for column in facts.columns}, 0
    for one in rules.following:
        if one.of not in counted or one.name in counted or one.name not in own:
            wrong += 1
            continue
        of, to = own[one.of].domain, own[one.name].domain
        labels = [*(of.categories or ()), *([None] if of.has_missing else [])]
        wrong += of.categories is None or not all(label in one.cells or to.has_missing for label in labels)
        wrong += sum(not _has_cell(to, one.cells[label]) for label in labels if label in one.cells)
        wrong += to.categories is None and (to.multiples is None or to.cells != to.multiples.number)
    for rule in rules.apart:
        for name, values in rule.items():
            if name not in own:
                wrong += 1
                continue
            categories = own[name].domain.categories if own[name].domain.bounds is None else None
            names = isinstance(values[0], str)
            wrong += names != (categories is not None) or (names and not set(values) <= set(categories or ()))
    return int(wrong)


def _has_cell(domain: PublicDomain, cell: object) -> bool:
    """Return True if a domain has a cell."""
    if cell is None:
        return domain.has_missing
    if domain.categories is not None:
        return cell in domain.categories
    return type(cell) in (int, float) and bool((domain.grid.middles == cell).any())


def _broken_of_part(part: Path, rules: Rules, own: Mapping[str, PublicColumn]) -> int:
    """Count the rows of one file that break a rule."""
    names = sorted(
        {name for rule in rules.apart for name in rule}
        | {name for one in rules.following for name in (one.name, one.of)}
    )
    broken = 0
    for batch in iter_batches(part, names, batch_rows=_BATCH_ROWS):
        cells = {name: _plain(batch.column(name)) for name in names}
        bad = np.zeros(batch.num_rows, dtype=bool)
        for one in rules.following:
            bad |= _follows_wrongly(cells[one.of], cells[one.name], one, own[one.name].domain)
        for rule in rules.apart:
            met = [_is_meant(cells[name], values) for name, values in rule.items()]
            bad |= np.all(met, axis=0)
        broken += int(bad.sum())
    return broken


def _plain(cells: pa.Array) -> pa.Array:
    return cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells


def _follows_wrongly(first: pa.Array, second: pa.Array, one: DeterminedColumn, domain: PublicDomain) -> BoolArray:
    """Return a mask of the cells of the second column that differ from those which the first determines."""
    listed = list(one.cells)
    places = pc.index_in(first.cast(pa.string()), value_set=pa.array(listed, pa.string()))
    known = np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    expected = np.array([*(one.cells[label] for label in listed), None], dtype=object)[known]
    kind = pa.float64() if domain.categories is None else pa.string()
    right = pc.equal(second.cast(kind), pa.array(expected.tolist(), kind))
    both = pc.and_(second.is_null(), pa.array([cell is None for cell in expected.tolist()], pa.bool_()))
    return ~np.asarray(pc.or_(pc.fill_null(right, False), both).to_numpy(zero_copy_only=False), dtype=bool)


def _is_meant(cells: pa.Array, values: Sequence[Any]) -> BoolArray:
    """Return a mask of the cells among the categories, or within the range, of a rule."""
    if isinstance(values[0], str):
        found = pc.is_in(cells.cast(pa.string()), value_set=pa.array(list(values), pa.string()))
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)
    numbers = np.asarray(pc.fill_null(cells.cast(pa.float64()), math.nan).to_numpy(zero_copy_only=False))
    return np.asarray((numbers >= values[0]) & (numbers <= values[1]), dtype=bool)


# --- what rules do to the rows of a model ------------------------------------------------------------------------


def masks_of(params: Mapping[str, Any], facts: PublicFacts) -> list[dict[str, FloatArray]]:
    """Return for each rule which codes of the counted columns must not meet, the target by its classes.

    Parameters
    ----------
    params, facts
        Whose rules fit the columns.

    Returns
    -------
    list of mapping of str to float array, shape (codes,)
        1 for a code that is meant, 0 for others; of a cell of numbers the share of its places.
    """
    rules = rules_of(params)
    own = {**{column.name: column for column in facts.columns}, **determined_columns(params)}
    out = []
    for rule in rules.apart:
        masks: dict[str, FloatArray] = {}
        for name, values in rule.items():
            one = rules.determined.get(name)
            if one is None:
                of, mask = name, _shares_meant(own[name].domain, values, facts.family.places)
            else:
                of = one.of
                mask = np.array(
                    [_meant(one.cells.get(label), values) for label in own[of].domain.labels()], dtype=float
                )
            masks[of] = masks[of] * mask if of in masks else mask
        out.append(masks)
    return out


def _shares_meant(domain: PublicDomain, values: Sequence[Any], places: int) -> FloatArray:
    """Return the share of each code of a column that is meant: of a cell of numbers that of its places."""
    if domain.bounds is None or domain.fine:
        return _mask(domain, values).astype(np.float64)
    cells, shown = domain.grid.cells_of_parts(places), domain.grid.divided(places).middles
    meant = np.bincount(cells, weights=(shown >= values[0]) & (shown <= values[1])) / np.bincount(cells)
    return np.append(meant, np.zeros(int(domain.has_missing)))


def _mask(domain: PublicDomain, values: Sequence[Any]) -> BoolArray:
    """Return a mask of the codes of a column that are meant: of numbers the cells of the grid that are shown so."""
    if domain.bounds is None:
        return np.array([label in values for label in domain.labels()], dtype=bool)
    shown = domain.grid.middles
    meant = (shown >= values[0]) & (shown <= values[1])
    return np.append(meant, np.zeros(int(domain.has_missing), dtype=bool))


def _meant(cell: Any, values: Sequence[Any]) -> bool:
    if isinstance(values[0], str) or cell is None:
        return cell in values
    return bool(values[0] <= cell <= values[1])


def changed_at_most(
    masks: Iterable[Mapping[str, FloatArray]], rows: FloatArray, shares: Mapping[str, FloatArray]
) -> float:
    """Return a bound on the rows of independent columns that break a rule, but for a chance of one in a billion.

    Parameters
    ----------
    masks : iterable of mapping
        Of each rule the codes that must not meet; see `masks_of`.
    rows : float array, shape (groups,)
        Rows of each group in which columns are independent.
    shares : mapping of str to float array
        For each column of a rule the shares of its codes in each group, shape (groups, codes).
    """
    expected = 0.0
    for rule in masks:
        chance = np.ones(rows.size)
        for name, mask in rule.items():
            chance = chance * (shares[name] @ mask)
        expected += float(rows @ chance)
    size = math.log(2 / _FALSE_ALARM)
    return expected + size / 3 + math.sqrt(size * size / 9 + 2 * expected * size) if expected else 0.0


@dataclass(frozen=True, kw_only=True)
class ClassRules:
    """Rules that name the target: which of its values a row must not have, by what the row shows in other columns."""

    rules: tuple[Mapping[str, Any], ...]
    target: PublicColumn

    @classmethod
    def of(cls, params: Mapping[str, Any], facts: PublicFacts) -> ClassRules:
        """Read the rules that name the target."""
        named = tuple(rule for rule in rules_of(params).apart if facts.target.name in rule)
        return cls(rules=named, target=facts.target)

    @property
    def columns(self) -> list[str]:
        """The other columns of these rules, sorted."""
        return sorted({name for rule in self.rules for name in rule if name != self.target.name})

    def forbidden(self, batch: pa.RecordBatch) -> BoolArray:
        """Return a mask of the forbidden values of the target, of numbers the cells of its grid; missing last.

        Returns
        -------
        bool array, shape (n_rows, values)
        """
        domain = self.target.domain
        size = (domain.grid.cells if domain.bounds is not None else domain.cells) + domain.has_missing
        out = np.zeros((batch.num_rows, size), dtype=bool)
        for rule in self.rules:
            met = np.ones(batch.num_rows, dtype=bool)
            for name, values in rule.items():
                if name != self.target.name:
                    met &= _is_meant(_plain(batch.column(name)), values)
            out |= met[:, np.newaxis] & _mask(domain, rule[self.target.name])
        return out

    def forbidden_classes(self, batch: pa.RecordBatch) -> BoolArray:
        """Return a mask of the forbidden classes of rows: bins of which no cell is left, shape (n_rows, n_classes)."""
        own, domain = self.forbidden(batch), self.target.domain
        if not domain.fine:
            return own
        bins = np.logical_and.reduceat(own[:, : domain.fine], [0, *domain.ends[:-1]], axis=1)
        return np.concatenate([bins, own[:, domain.fine :]], axis=1)
