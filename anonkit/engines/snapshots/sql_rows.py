# SPDX-License-Identifier: Apache-2.0
"""Queries of a database: all rows of one table or view, or one SELECT statement of the owner."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote

from anonkit.bundle.sql_names import in_quotes, table_parts
from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.errors import ParameterError, option

_TABLE, _SCHEMA = "table", "schema"
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?P<word>[A-Za-z]*)", re.DOTALL)
_SELECTS = ("select", "with", "values", "table", "from")
_HOW = f"{option('query', 'SELECT …')} or ?table=NAME, one of them"


def asked_rows(address: SourceAddress, *, folds: bool) -> str:
    """Return the SELECT statement, without a semicolon, for an address and its options.

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
        SELECT statement does. That it is one statement, and changes nothing, is for the database itself to enforce.
    """
    address.refuse("sheet", "header_row", "header", "names", "delimiter", "skip_rows", "format", of="a database")
    names = [value for key, value in _parameters(address) if key == _TABLE]
    if len(names) + (address.query is not None) != 1:
        raise ParameterError(f"{address.shown} names {'no table' if not names else 'more than one table'}", _HOW)
    if address.query is None:
        schemas = [value for key, value in _parameters(address) if key == _SCHEMA]
        parts = table_parts(names[0], schemas[-1] if schemas else None, folds=folds)
        return f"SELECT * FROM {'.'.join(map(in_quotes, parts))}"
    first = _FIRST_WORD.match(address.query)
    if first is None or first["word"].lower() not in _SELECTS:
        raise ParameterError("the query is no SELECT statement", "a source is read, and nothing in it is changed")
    return address.query.strip().rstrip(";").rstrip()


def without_table(address: SourceAddress) -> str:
    """Return an address with all its parameters but those of the table: the one for the database's driver."""
    others = [(key, value) for key, value in _parameters(address) if key not in (_TABLE, _SCHEMA)]
    return address.bare + "".join(
        f"{'&' if at else '?'}{quote(key, safe='')}={quote(value, safe='')}" for at, (key, value) in enumerate(others)
    )


def refuse_parameters(address: SourceAddress, *known: str) -> None:
    """Refuse parameters of an address that mean nothing; the message names an unknown one, and no value.

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


def _parameters(address: SourceAddress) -> list[tuple[str, str]]:
    return parse_qsl(address.place.partition("?")[2], keep_blank_values=True)
