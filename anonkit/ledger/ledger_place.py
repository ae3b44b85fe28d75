# SPDX-License-Identifier: Apache-2.0
"""The place of a ledger: a file, or a schema of a PostgreSQL database, named by path or address.

Privacy
-------
An address may hold a password. It is in no string, `repr` or error that this value makes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from anonkit.errors import ParameterError
from anonkit.redaction import is_address, redacted

_SERVERS = ("postgresql://", "postgres://")
_SCHEMA = "schema="
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HEADER = 100
"""Bytes without which SQLite takes a file for an empty one, or for none of its own."""
SCHEMA = "anonkit"
"""The schema of the tables of a server's ledger, unless its address has `schema=…`."""


@dataclass(frozen=True, kw_only=True)
class LedgerPlace:
    """The place of a ledger: a file or an address, never both."""

    file: Path | None = None
    address: str | None = field(default=None, repr=False)
    """Of a server's database, as libpq reads it, without the schema; it may hold a password."""
    schema: str = SCHEMA
    """Of a server's ledger."""

    @classmethod
    def of(cls, where: str | Path | LedgerPlace) -> LedgerPlace:
        """Return the place that a path or an address names.

        Raises
        ------
        ParameterError
            It is neither a path nor an address; the address is none of a PostgreSQL database, or its schema is no
            plain name.
        """
        if isinstance(where, LedgerPlace):
            return where
        if not isinstance(where, str | Path):
            raise ParameterError(f"a ledger is a path or an address, no {type(where).__name__}", "ledger=None for none")
        if isinstance(where, Path) or not is_address(where):
            return cls(file=Path(where).expanduser())
        if not where.startswith(_SERVERS):
            raise ParameterError(
                f"{where!r} is no place of a ledger", "a path, or postgresql://user@host/database?sslmode=verify-full"
            )
        base, _, parameters = where.partition("?")
        pairs = [pair for pair in parameters.split("&") if pair]
        of_driver = [pair for pair in pairs if not pair.startswith(_SCHEMA)]
        named = [pair.removeprefix(_SCHEMA) for pair in pairs if pair.startswith(_SCHEMA)] or [SCHEMA]
        if not _NAME.fullmatch(named[-1]):
            raise ParameterError("the schema of a ledger is a plain name of small letters, digits and _", "schema=team")
        return cls(address="?".join([base, *(["&".join(of_driver)] if of_driver else [])]), schema=named[-1])

    @property
    def may_be_there(self) -> bool:
        """False when a file is not there, or has been cut to nothing; a server answers when its ledger is opened."""
        return self.file is None or (self.file.exists() and self.file.stat().st_size >= _HEADER)

    def __str__(self) -> str:
        if self.address is None:
            return str(self.file)
        mark = "&" if "?" in self.address else "?"
        return redacted(self.address) + ("" if self.schema == SCHEMA else f"{mark}schema={self.schema}")
