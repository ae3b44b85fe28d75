# SPDX-License-Identifier: Apache-2.0
"""Public rules on rows, `[[constraints]]` of a policy: a column that follows from another, values that never meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anonkit.domains.cell_values import exact_decimal
from anonkit.domains.public_rules import FROM_DATA, FROM_POLICY, Follows, Label, Never, PublicRules
from anonkit.errors import ParameterError, PolicyError, did_you_mean
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.side_files import UTF8, expect, read_side_table, refuse_unknown

MOST_NUMBERS = 10_000
"""Numbers of a column that follows from another, at most."""
_WHERE = "policy: constraints"
_DETERMINES = 'determines = { from = "city", to = "region", map = "city.csv" }'
_NEVER = 'never = { relationship = "Husband", sex = "Female" }'


def constraints_of(
    raw: Mapping[str, Any], columns: Mapping[str, Column], folder: Path | None, encoding: str = UTF8
) -> PublicRules:
    """Read the `[[constraints]]` of a policy; a `map` is looked up in its folder.

    Raises
    ------
    PolicyError
        One is none of `determines` and `never`, or both; names a column twice, a value of no kind, a file that cannot
        be read; or two contradict each other.
    """
    follows: list[Follows] = []
    never: list[Never] = []
    for entry in expect("policy", "constraints", raw.get("constraints", []), list):
        refuse_unknown(_WHERE, expect("policy", "constraints", entry, dict), ("determines", "never", "source"))
        source = entry.get("source", FROM_POLICY)
        if source not in (FROM_POLICY, FROM_DATA):
            raise PolicyError(f'{_WHERE}: source must be "policy" or "data"', '"data" says where the rule was found')
        if ("determines" in entry) == ("never" in entry):
            raise PolicyError(f"{_WHERE}: each is one of determines and never", f"{_DETERMINES}, or {_NEVER}")
        try:
            if "determines" in entry:
                follows.append(_follows(entry["determines"], columns, folder, encoding, source))
            else:
                never.append(Never(values=_values(entry["never"]), source=source))
        except ParameterError as error:
            raise PolicyError(f"{_WHERE}: {error.message}", _NEVER if "never" in entry else _DETERMINES) from None
    try:
        return PublicRules(follows=tuple(follows), never=tuple(never))
    except ParameterError as error:
        raise PolicyError(f"{_WHERE}: {error.message}", "name the first column in both rules") from None


def _follows(raw: object, columns: Mapping[str, Column], folder: Path | None, encoding: str, source: str) -> Follows:
    given = expect(_WHERE, "determines", raw, dict)
    refuse_unknown(f"{_WHERE}: determines", given, ("from", "to", "map", "level"))
    of, name = given.get("from"), given.get("to")
    if not isinstance(of, str) or not isinstance(name, str) or ("map" in given) == ("level" in given):
        raise PolicyError(f"{_WHERE}: determines needs from, to, and one of map and level", _DETERMINES)
    if "level" in given:
        pairs: Sequence[Sequence[Any]] = _of_tree(of, columns.get(of), given["level"])
    elif isinstance(given["map"], str):
        pairs = _of_file(of, name, given["map"], folder, encoding)
    else:
        pairs = expect(f"{_WHERE}: determines", "map", given["map"], list)
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_is_label, pair)) for pair in pairs):
        raise PolicyError(f"{_WHERE}: map must be a CSV file or a list of pairs", 'map = [["Bachelors", 13]]')
    number = columns.get(name)
    is_number = number is not None and number.bounds is not None
    read = tuple(
        (_category(first), _number(name, second) if is_number else _category(second)) for first, second in pairs
    )
    return Follows(name=name, of=of, pairs=read, source=source)


def _of_tree(of: str, column: Column | None, level: object) -> list[tuple[str, str]]:
    tree = None if column is None else column.tree
    levels = 0 if not tree else len(tree[0]) - 1
    if isinstance(level, bool) or not isinstance(level, int) or not tree or not 1 <= level <= levels:
        raise PolicyError(
            f"{_WHERE}: level is a level of the tree of column {of!r}, from 1 to {levels}",
            "or map: a CSV of both names",
        )
    return [(path[0], path[level]) for path in tree]


def _of_file(of: str, name: str, location: str, folder: Path | None, encoding: str) -> list[tuple[str, str]]:
    table = read_side_table(_WHERE, "map", location, folder, encoding)
    header = table.rows[0] if table.rows else ()
    if set(header) != {of, name} or len(header) != 2:
        raise PolicyError(f"{_WHERE}: the first line of {location!r} must name both columns", f"{of},{name}")
    first, second = header.index(of), header.index(name)
    odd = next((at for at, row in enumerate(table.rows) if len(row) != 2), None)
    if odd is not None:
        raise PolicyError(f"{_WHERE}: {table.line(odd)} has not two cells", f"{of},{name}")
    return [(row[first], row[second]) for row in table.rows[1:]]


def _category(cell: Label) -> Label:
    """Return a cell of a map as the name of a category, which is a string."""
    return str(cell) if isinstance(cell, int | float) else cell


def _number(name: str, cell: Label) -> Label:
    """Return the number in a cell of a map."""
    if not isinstance(cell, str):
        return cell
    decimal = exact_decimal(cell)
    if decimal is None:
        raise PolicyError(
            f"{_WHERE}: column {name!r} has bounds, and map gives it a cell that is no number", _DETERMINES
        )
    return float(decimal)


def _values(raw: object) -> dict[str, tuple[Any, ...]]:
    """Return the values that a `never` names: a category or several, a number or both ends of a range."""
    out: dict[str, tuple[Any, ...]] = {}
    for name, given in expect(_WHERE, "never", raw, dict).items():
        own = tuple(given) if isinstance(given, list | tuple) else (given,)
        if len(own) == 1 and not isinstance(own[0], str):
            own = (own[0], own[0])
        out[name] = own
    return out


def _is_label(cell: object) -> bool:
    return cell is None or (isinstance(cell, str | int | float) and not isinstance(cell, bool))


def refuse_strange_constraints(rules: PublicRules, columns: Mapping[str, Column]) -> None:
    """Refuse rules on columns that the table does not have or does not release, and on what cannot follow.

    Raises
    ------
    PolicyError
        There is one.
    """
    named = [name for rule in rules.follows for name in (rule.of, rule.name)]
    named += [name for rule in rules.never for name in rule.values]
    for name in named:
        if name not in columns:
            raise PolicyError(f"{_WHERE}: column {name!r} is not in the table", did_you_mean(name, columns))
        if columns[name].role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET):
            raise PolicyError(f"{_WHERE}: column {name!r} is not released under noise", "leave the rule out")
    for rule in rules.follows:
        if columns[rule.name].role is Role.TARGET:
            raise PolicyError(
                f"{_WHERE}: the target {rule.name!r} cannot follow from another column", "turn the rule around"
            )
        if columns[rule.of].bounds is not None or columns[rule.of].has_bins:
            raise PolicyError(
                f"{_WHERE}: column {rule.of!r} must have categories, for others to follow from it", _DETERMINES
            )
        own = columns[rule.name]
        if own.has_bins or (own.bounds is not None and own.whole_values is None):
            raise PolicyError(
                f"{_WHERE}: column {rule.name!r} must have categories, integers or a step, to follow from another",
                'type = "integer"',
            )
        if own.whole_values is not None and own.whole_values.size > MOST_NUMBERS:
            raise PolicyError(
                f"{_WHERE}: column {rule.name!r} holds more than {MOST_NUMBERS:,} numbers", "narrower bounds"
            )
