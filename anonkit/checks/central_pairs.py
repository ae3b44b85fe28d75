# SPDX-License-Identifier: Apache-2.0
"""Private pre-queries of the default trees on pairs, triples and all of the attributes, written independently.

Which tables there are, the loss of a reading and a choice, and the first splits of a tree that a pair leads, follow
from public facts and the published number of rows. A tree that begins otherwise was chosen by something without a
charge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import Any

from anonkit.checks.central_params import PublicColumn, PublicFacts, integers
from anonkit.checks.number_cells import fewest
from anonkit.errors import ReleaseFormatError

READING = "dependence within classes"
CHOICE = "interacting pair"
_TOLD_APART, _FEW_APART = 8, 4
"""Cells of a number that tables of pairs distinguish, and those of triples."""


@dataclass(frozen=True, kw_only=True)
class PairTables:
    """The pairs whose tables by class have 16 rows for each cell, two million cells together at most."""

    pairs: tuple[tuple[int, int], ...]
    cells: tuple[int, ...]
    """Cells of the table of each."""
    attributes: tuple[PublicColumn, ...]
    bins: int
    """Cells of a number, of which eight at most are distinguished."""

    @classmethod
    def of(cls, facts: PublicFacts, bins: int, rows: int) -> PairTables:
        """Return the pairs by public facts and the number of rows."""
        groups = [_groups(one, bins, _TOLD_APART) for one in facts.attributes]
        sizes = {
            pair: facts.n_classes * groups[pair[0]] * groups[pair[1]] for pair in combinations(range(len(groups)), 2)
        }
        smallest = sorted(sizes, key=lambda pair: (sizes[pair], pair))
        together = accumulate(sizes[pair] for pair in smallest)
        kept = [
            pair
            for pair, all_ in zip(smallest, together, strict=True)
            if 16 * sizes[pair] <= max(rows, 1) and all_ <= 1 << 21
        ]
        return cls(pairs=tuple(kept), cells=tuple(map(sizes.__getitem__, kept)), attributes=facts.attributes, bins=bins)

    def reading_width(self) -> int:
        """Return the steps by which a row moves what is read of all of them; 0 where there is none.

        A row moves the sum of the largest, one fewer than there are attributes, by 2 rows for each; a quarter of that
        is read, or the largest alone.
        """
        return max(512, 128 * min(len(self.attributes) - 1, len(self.pairs))) + 2 if self.pairs else 0

    def triples(self, classes: int, pairs: int, left: float, rows: int) -> list[tuple[int, ...]]:
        """Return the triples that may lead a tree, beside so many pairs: of attributes of five cells at most.

        As many of those with fewest cells as leave the price of the choice what it is.
        """
        known = max(float(rows), 1.0)
        sizes = [_groups(one, self.bins, _FEW_APART) for one in self.attributes]
        few = sorted((size, at) for at, size in enumerate(sizes) if 1 < size <= _FEW_APART + 1)
        most, widest = min(5_000, (1 << 28) / known), min(left * known / 8, known / 16) / classes
        while few and pairs:
            number, cells = math.comb(len(few), 3), math.prod(size for size, _ in few[-3:])
            as_cheap = choice_cost(pairs + 8 * number, left, rows) == choice_cost(pairs, left, rows)
            if number <= most and cells <= widest and as_cheap and 2 * cells * _largest(self.attributes) <= 1 << 26:
                break
            few.pop()
        return list(combinations(sorted(at for _, at in few), 3)) if pairs else []

    def joint(self, classes: int, triples: int, left: float, rows: int) -> list[tuple[int, ...]]:
        """Return all attributes where they may lead a tree together, beside so many triples: four or more of them.

        Their cells, a number in four, missing with the last, have 8 rows and 8 of epsilon times rows for each class.
        """
        sizes = [_groups(one, self.bins, _FEW_APART, joint=True) for one in self.attributes]
        cells, known, pairs = math.prod(sizes), max(float(rows), 1.0), len(self.led(left * max(rows, 1)))
        if not triples or len(sizes) < 4 or 8 * classes * cells > min(known, left * known):
            return []
        levels = sum(map(_to_go, self.attributes, sizes))
        as_cheap = choice_cost(pairs + 8 * (triples + 1), left, rows) == choice_cost(pairs, left, rows)
        is_small = levels <= 12 and 2 * cells * _largest(self.attributes) <= 1 << 26
        return [tuple(range(len(sizes)))] if as_cheap and is_small else []

    def led(self, strength: float) -> list[tuple[int, ...]]:
        """Return the pairs that may lead a tree: 8 of epsilon times rows for each cell, and twelve levels at most."""
        largest = _largest(self.attributes)
        return [
            pair
            for pair, cells in zip(self.pairs, self.cells, strict=True)
            if 8 * cells <= strength and _is_small([self.attributes[at] for at in pair], largest, self.bins)
        ]


def reading_cost(width: int, left: float, rows: int) -> float:
    """Return what a reading costs: so much that forty scales of its noise are the rows, at most 3 % of what is left."""
    return left * min(0.03, math.ceil(40 * ((width - 2) / 256) / (left * max(rows, 1)) * 100_000) / 100_000)


def choice_cost(pairs: int, left: float, rows: int) -> float:
    """Return what the choice of a pair costs: 1 % of what is left or more; 0 where 6 % are too few, and none is made.

    A pair that gains nothing and is below the least gain by .15 of the rows is a head of permute-and-flip in spite of
    it with a chance of exp(-.075 epsilon rows): some of them in one of seven releases where nothing gains anything, and
    no pair, which always is one, is then chosen as often. Where more is paid the least gain falls, to .09.
    """
    share = math.ceil((math.log(pairs + 1) + 2) / 0.075 / (left * max(rows, 1)) * 100_000)
    return left * max(share, 1_000) / 100_000 if pairs and share <= 6_000 else 0.0


def told_reading(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected entry of the reading: by its own line of the account, whatever was read.

    Raises
    ------
    ReleaseFormatError
        There is none.
    """
    told = params["rule"]["dependence"]
    rate = _rate_of(READING, params, told)
    return {"purpose": READING, "rate": rate, "steps": integers([told["steps"]])[0]}


def told_choice(params: Mapping[str, Any], facts: PublicFacts, pairs: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Return the expected entry of the choice: by its own line of the account, one of the candidates, or none.

    Raises
    ------
    ReleaseFormatError
        There is none, or it is of a pair that was none to choose.
    """
    told = params["rule"]["interaction"]
    rate = _rate_of(CHOICE, params, told)
    names = told.get("pair")
    if names != [] and names not in [[facts.attributes[at].name for at in pair] for pair in pairs]:
        raise ReleaseFormatError("the params name a pair that was none to choose")
    return {"purpose": CHOICE, "rate": rate, "pair": names}


@dataclass(frozen=True, kw_only=True)
class LeadingGrid:
    """The first splits of a tree that two, three or all attributes lead."""

    pair: tuple[PublicColumn, ...]
    bins: int
    apart: int
    """Most cells of a number that are distinguished."""

    @classmethod
    def of(cls, pair: tuple[PublicColumn, ...], facts: PublicFacts, bins: int, strength: float) -> LeadingGrid:
        """Return the grid: eight cells of a number, more with 16 of epsilon times rows for each, or four of three."""
        if len(pair) > 2:
            return cls(pair=pair, bins=bins, apart=_FEW_APART)
        for apart in (32, 16):
            cells = facts.n_classes * math.prod(_groups(one, bins, apart) for one in pair)
            if 16 * cells <= strength and _is_small(pair, _largest(facts.attributes), bins, apart):
                return cls(pair=pair, bins=bins, apart=apart)
        return cls(pair=pair, bins=bins, apart=_TOLD_APART)

    @property
    def levels(self) -> int:
        """Most splits that lead to a cell."""
        return sum(map(_to_go, self.pair, self._sizes))

    @property
    def _sizes(self) -> list[int]:
        return [_groups(one, self.bins, self.apart, joint=len(self.pair) > 3) for one in self.pair]

    def is_followed(self, tree: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether a tree begins so: each node is divided as public facts alone say."""
        whole = tuple((0, size) for size in self._sizes)
        waiting: list[tuple[int, tuple[tuple[int, int], ...]]] = [(0, whole)]
        levels, last = {0: 0}, self.levels
        while waiting:
            number, box = waiting.pop()
            node, division = tree[number], self._division(box)
            if division is None:
                # a cell before the last level is a leaf; at the last it may be divided further, by paid choices
                if levels[number] < last and "children" in node:
                    return False
                continue
            at, split, parts = division
            children = node.get("children", ())
            if node.get("attribute") != self.pair[at].name or node.get("at") != split or len(children) != 2:
                return False
            for child, part in zip(children, parts, strict=True):
                levels[child] = levels[number] + 1
                waiting.append((child, tuple(part if place == at else own for place, own in enumerate(box))))
        return True

    def _division(
        self, box: Sequence[tuple[int, int]]
    ) -> tuple[int, int, tuple[tuple[int, int], tuple[int, int]]] | None:
        """Return which attribute divides a box, at which split, and the groups on both sides; None for a cell."""
        to_go = [_to_go(one, upper - lower) for one, (lower, upper) in zip(self.pair, box, strict=True)]
        if sum(to_go) == 0:
            return None
        at = to_go.index(max(to_go))
        lower, upper = box[at]
        if self.pair[at].domain.categories is not None:
            return at, lower, ((lower, lower + 1), (lower + 1, upper))
        bins = fewest(self.bins, self.pair[at].domain.multiples)
        middle, few = (lower + upper) // 2, min(bins, self.apart)
        first = math.ceil(middle * bins / few) if middle < few else bins
        return at, first - 1, ((lower, middle), (middle, upper))


def _to_go(attribute: PublicColumn, groups: int) -> int:
    """Return how many splits lead to one of so many groups: halves of a number, categories one by one."""
    return groups - 1 if attribute.domain.categories is not None else math.ceil(math.log2(groups))


def _groups(attribute: PublicColumn, bins: int, apart: int, *, joint: bool = False) -> int:
    """Return the number of groups of an attribute; missing is one of them, unless all attributes are together."""
    domain = attribute.domain
    cells = domain.cells if domain.categories is not None else min(fewest(bins, domain.multiples), apart)
    return cells + (domain.has_missing and not joint)


def _levels(pair: Sequence[PublicColumn], bins: int, apart: int) -> int:
    return sum(_to_go(one, _groups(one, bins, apart)) for one in pair)


def _largest(attributes: Sequence[PublicColumn]) -> int:
    return max(one.domain.size for one in attributes)


def _is_small(pair: Sequence[PublicColumn], largest: int, bins: int, apart: int = _TOLD_APART) -> bool:
    """Return whether a tree may begin with the grid of a pair: twelve levels, and 2**26 codes at all its nodes."""
    nodes = 2 * math.prod(_groups(one, bins, apart) for one in pair)
    return _levels(pair, bins, apart) <= 12 and nodes * largest <= 1 << 26


def _rate_of(purpose: str, params: Mapping[str, Any], told: Any) -> Any:
    rates = [line["rate"] for line in params["accounting"] if line["purpose"] == purpose]
    if not isinstance(told, Mapping) or len(rates) != 1:
        raise ReleaseFormatError("the params lack a reading or a choice that the rule requires")
    return integers([*rates, told["rate"]])[0]


def findings_in_words(block: Mapping[str, Any], beside: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each entry of the rule in words: of a reading whole rows, of a choice names, and what else differs.

    Parameters
    ----------
    block, beside : mapping
        The rule as published and as rebuilt, or the other way.
    """
    for name, one in block.items():
        if not isinstance(one, Mapping):
            yield name, str(one)
            continue
        other = beside.get(name)
        known = other if isinstance(other, Mapping) else {}
        shown = {key: _shown(key, value) for key, value in one.items()}
        kept = [shown[key] for key in one if key in ("steps", "pair") or one[key] != known.get(key)]
        yield name, "/".join(kept)


def _shown(key: str, value: Any) -> str:
    if key == "steps" and isinstance(value, int):
        return str(value // 256)
    return "+".join(map(str, value)) or "none" if key == "pair" and isinstance(value, list) else str(value)
