# SPDX-License-Identifier: Apache-2.0
"""Classes of failures of a server that gives no rows: its own words quote cells and queries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from anonkit.errors import SourceError


class Phase(Enum):
    """The step at which a server failed."""

    CONNECTING = "connecting"
    ASKING = "asking"
    READING = "reading"


_CREDENTIALS = "a password comes from PGPASSWORD, from ~/.pgpass or from the address: is it that of this user?"
_QUERY = "try the statement with the database's own client: what it says is not repeated here, since it may quote cells"
_AGAIN = "nothing was written; run the command again"

_BY_STATE: Sequence[tuple[str, str, str]] = (
    (r"28...", "refuses the user or the password", _CREDENTIALS),
    (r"3D000", "has no database of this name", "it comes after the host: postgresql://owner@host/NAME"),
    (r"42P01|3F000", "has no such table", "schema.table, as the search path of the user does not hold every schema"),
    (r"42703", "has no column that the query names", _QUERY),
    (r"42501", "does not allow this user to read it", "its owner grants SELECT on the table, and USAGE on its schema"),
    (r"0A000", "takes the query for more than a SELECT statement", _QUERY),
    (r"25006", "may only be read, and the query changes something", "one SELECT statement"),
    (r"42601", "does not take the query for one SELECT statement", _QUERY),
    (r"57014", "ended the query after its time limit, or its administrator did", "statement_timeout is its setting"),
    (r"40...|55P03", "let others go first", _AGAIN),
    (r"53300", "has no connection left", _AGAIN),
    (r"08...|57P0.", "was lost before the last row", _AGAIN),
    (r"22...|23...", "failed on what the query computes", _QUERY),
    (r"42...", "does not understand the query", _QUERY),
)
"""SQLSTATE (ISO/IEC 9075; PostgreSQL, appendix A), the message for it, and the hint."""
_BY_WORDS: Sequence[tuple[str, str, str]] = (
    (r"could not translate host name|name or service not known", "cannot be reached: no such host", "spelled so?"),
    (r"connection refused|no such file|network is unreachable|no route|timeout expired|timed out",
     "cannot be reached", "does it run, and does it answer on this host and port?"),
    (r"certificate|ssl|tls", "does not agree on an encrypted connection", "sslmode and sslrootcert are of the address"),
    (r"password|authentication|no pg_hba|role .* does not exist|not permitted to log in", *_BY_STATE[0][1:]),
    (r"database .* does not exist", *_BY_STATE[1][1:]),
    (r"too many (clients|connections)|remaining connection slots", "has no connection left", _AGAIN),
    (r"starting up|shutting down|recovery mode", "is not ready", _AGAIN),
    (r"invalid .*(value|option|parameter|uri|port)|missing .* in connection", "has an address that is not well-formed",
     "postgresql://owner@host/db?table=people"),
    (r"read-only transaction", *_BY_STATE[5][1:]),
    (r"server closed|terminating connection|connection .*(lost|reset|closed|not open)|unexpected(ly)? eof|broken pipe",
     "was lost before the last row", _AGAIN),
)  # fmt: skip
_UNKNOWN = {
    Phase.CONNECTING: ("cannot be reached", "try it with the database's own client"),
    Phase.ASKING: ("does not answer the query", _QUERY),
    Phase.READING: ("ended before the last row", _QUERY),
}


def refusal_of_server(shown: str, error: Exception, phase: Phase) -> SourceError:
    """Return the message for an error of a server.

    Parameters
    ----------
    shown : str
        What messages call the source.
    error : Exception
        Of the driver. Its words are looked at, and never kept.
    phase : Phase

    Privacy
    -------
    A server quotes cells ("invalid input syntax for type integer: ..."), the query, and what it was sent as a password.
    """
    state = getattr(error, "sqlstate", None) or ""
    words = str(error).lower()
    for pattern, what, hint in _BY_STATE:
        if re.fullmatch(pattern, state):
            return SourceError(f"{shown} {what}", hint)
    if not state:
        for pattern, what, hint in _BY_WORDS:
            if re.search(pattern, words):
                return SourceError(f"{shown} {what}", hint)
    what, hint = _UNKNOWN[phase]
    return SourceError(f"{shown} {what}{f' (SQLSTATE {state})' if re.fullmatch('[0-9A-Z]{5}', state) else ''}", hint)
