# SPDX-License-Identifier: Apache-2.0
"""What is asked of a database: all rows of one table or view, or one SELECT statement of the owner."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote

from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.errors import ParameterError, option

_TABLE = "table"
_NAME = re.compile(r'"(?P<quoted>(?:[^"]|"")+)"|(?P<bare>[^".]+)')
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?P<word>[A-Za-z]*)", re.DOTALL)
_SELECTS = ("select", "with", "values", "table", "from")
_HOW = f"{option('query', 'SELECT …')} or ?table=NAME, one of them"


def asked_rows(address: SourceAddress, *, folds: bool) -> str:
    """Return the SELECT statement, without a semicolon, that an address and its options stand for.

    Parameters
    ----------
    address : SourceAddress
    folds : bool
        True where the database writes a name without quotes in lower case: ``?table=People`` is ``people`` then, as it
        is in the owner's SQL, and ``?table="People"`` is not.

    Raises
    ------
    ParameterError
        Neither a table nor a query is given, or both are; a name is not well-formed; the query does not begin as a
        SELECT statement does. That it is one statement, and changes nothing, the database itself is held to.
    """
    address.refuse("sheet", "header_row", "format", of="a database")
    names = [value for key, value in _parameters(address) if key == _TABLE]
    if len(names) + (address.query is not None) != 1:
        raise ParameterError(f"{address.shown} names {'no table' if not names else 'more than one table'}", _HOW)
    if address.query is None:
        return f"SELECT * FROM {_quoted(names[0], folds=folds)}"
    first = _FIRST_WORD.match(address.query)
    if first is None or first["word"].lower() not in _SELECTS:
        raise ParameterError("the query is no SELECT statement", "a source is read, and nothing in it is changed")
    return address.query.strip().rstrip(";").rstrip()


def without_table(address: SourceAddress) -> str:
    """Return an address with all its parameters but the table: what the database's driver is told."""
    others = [(key, value) for key, value in _parameters(address) if key != _TABLE]
    return address.bare + "".join(
        f"{'&' if at else '?'}{quote(key, safe='')}={quote(value, safe='')}" for at, (key, value) in enumerate(others)
    )


def refuse_parameters(address: SourceAddress, *known: str) -> None:
    """Refuse parameters of an address that mean nothing; the name of an unknown one is told, and no value.

    Raises
    ------
    ParameterError
        There is one.
    """
    for key, _ in _parameters(address):
        if key not in known:
            raise ParameterError(
                f"{address.shown} has a parameter that is not known ({key})", f"known: {', '.join(known) or 'none'}"
            )


def in_quotes(name: str) -> str:
    """Return a name as SQL spells it exactly."""
    return '"' + name.replace('"', '""') + '"'


def _parameters(address: SourceAddress) -> list[tuple[str, str]]:
    return parse_qsl(address.place.partition("?")[2], keep_blank_values=True)


def _quoted(name: str, *, folds: bool) -> str:
    """Return a name such as `schema.people` or `"Odd.Schema"."People"` with every part in quotes."""
    parts, at = [], 0
    while (part := _NAME.match(name, at)) is not None:
        bare, at = part["bare"], part.end()
        if bare is None:
            parts.append(f'"{part["quoted"]}"')
        else:
            parts.append(in_quotes(bare.lower() if folds and _PLAIN.fullmatch(bare) else bare))
        if at == len(name):
            return ".".join(parts)
        if name[at] != ".":
            break
        at += 1
    raise ParameterError(
        f"the name of the table ({name}) is not well-formed", 'such as people, schema.people or "Odd.Name"'
    )
