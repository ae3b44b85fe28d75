# SPDX-License-Identifier: Apache-2.0
"""Private pre-queries of the default trees on pairs, triples and all of the attributes, as a release states them.

Which tables there are follows from the public rule. A tree that a pair leads begins with their public grid: one that
begins otherwise was chosen by something without a charge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anonkit.budget_rules.pair_rule import AttributeSize, PairGrid
from anonkit.checks.central_params import PublicFacts, integers
from anonkit.checks.number_cells import fewest
from anonkit.errors import ReleaseFormatError

READING = "dependence within classes"
CHOICE = "interacting pair"


def attribute_sizes(facts: PublicFacts, bins: int) -> tuple[AttributeSize, ...]:
    """Return the public sizes of the attributes, where numbers have so many bins."""
    found = []
    for one in facts.attributes:
        domain = one.domain
        cells = 0 if domain.categories is not None else fewest(bins, domain.multiples)
        codes = domain.size - domain.cells + cells if cells else domain.size
        found.append(AttributeSize(codes=codes, cells=cells, has_missing=domain.has_missing))
    return tuple(found)


def stated_reading(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected entry of the reading: by its own line of the account, whatever was read.

    Raises
    ------
    ReleaseFormatError
        There is none.
    """
    stated = params["rule"].get("dependence")
    rate = _rate_of(READING, params, stated)
    return {"purpose": READING, "rate": rate, "steps": integers([stated["steps"]])[0]}


def stated_choice(params: Mapping[str, Any], facts: PublicFacts, pairs: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Return the expected entry of the choice: by its own line of the account, one of the candidates, or none.

    Raises
    ------
    ReleaseFormatError
        There is none, or it is of a pair that was none to choose.
    """
    stated = params["rule"].get("interaction")
    rate = _rate_of(CHOICE, params, stated)
    names = stated.get("pair")
    if names != [] and names not in [[facts.attributes[at].name for at in pair] for pair in pairs]:
        raise ReleaseFormatError("the params name a pair that was none to choose")
    return {"purpose": CHOICE, "rate": rate, "pair": names}


def is_followed(grid: PairGrid, tree: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    """Return True if a tree begins with a public grid: each node is divided as public facts alone say.

    A cell before the last level is a leaf; at the last it may be divided further, by paid choices.

    Parameters
    ----------
    grid : PairGrid
    tree : sequence of mapping
        Published nodes, the root first.
    names : sequence of str
        Of all attributes.
    """
    level = [0]
    for divisions in grid.levels:
        below: list[int] = []
        for number, division in zip(level, divisions, strict=True):
            node = tree[number]
            children = node.get("children", [])
            if division is None:
                if children:
                    return False
                continue
            at, split = division
            if node.get("attribute") != names[at] or node.get("at") != split or len(children) != 2:
                return False
            below += children
        level = below
    return True


def _rate_of(purpose: str, params: Mapping[str, Any], stated: Any) -> Any:
    rates = [line["rate"] for line in params["accounting"] if line["purpose"] == purpose]
    if not isinstance(stated, Mapping) or len(rates) != 1:
        raise ReleaseFormatError("the params lack a reading or a choice that the rule requires")
    return integers([*rates, stated["rate"]])[0]


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
        figures = [shown[key] for key in one if key in ("steps", "pair") or one[key] != known.get(key)]
        yield name, "/".join(figures)


def _shown(key: str, value: Any) -> str:
    if key == "steps" and isinstance(value, int):
        return str(value // 256)
    return "+".join(map(str, value)) or "none" if key == "pair" and isinstance(value, list) else str(value)
