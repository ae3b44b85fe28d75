# SPDX-License-Identifier: Apache-2.0
"""A policy that is edited in the page: its text, in which everything that nobody touched stays as it was.

Comments, order and keys that the desk knows nothing of are kept, since the file is the owner's.
"""

from __future__ import annotations

import csv
import io
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from anonkit.bundle.private_files import write_private
from anonkit.drafting.identifying.street_addresses import HeaderKind, header_kind
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Role

LOOKED = "looked_at_table"
"""Key of a policy whose choices follow from a look at the private table."""
TREES = "trees"
"""Folder of the hierarchies that are made in the page."""

_BY_NAMES = (
    "# Drafted from the names of the columns alone; no cell was read. Declare every domain (bounds, categories)\n"
    "# from public knowledge: a code book, a law, common sense.\n\n"
)
_ROLES = {str(role): role for role in Role}


@dataclass(frozen=True, kw_only=True)
class EditedPolicy:
    """The text of a policy; every change returns another one."""

    text: str

    @classmethod
    def read(cls, text: str) -> EditedPolicy:
        """Take a text that is TOML.

        Raises
        ------
        PolicyError
            It is not.
        """
        _plain(text)
        return cls(text=text)

    def _document(self) -> Any:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            return tomlkit.parse(self.text)
        except (TOMLKitError, ValueError):
            raise PolicyError("the policy is not TOML") from None

    @staticmethod
    def _of(document: Any) -> EditedPolicy:
        import tomlkit

        return EditedPolicy(text=tomlkit.dumps(document))

    def columns(self) -> dict[str, dict[str, Any]]:
        """Return the declaration of every column, as plain values."""
        columns = _plain(self.text).get("columns", {})
        return {name: dict(spec) for name, spec in columns.items() if isinstance(spec, dict)}

    def with_roles(self, roles: Mapping[str, str]) -> EditedPolicy:
        """Return the policy in which columns have other roles; `target, sensitive` is a target that is a secret too.

        Raises
        ------
        PolicyError
            A role is none.
        """
        document = self._document()
        declared = self.columns()
        for name, role in roles.items():
            plain, _, also = role.partition(", ")
            if plain not in _ROLES or also not in ("", "sensitive"):
                raise PolicyError(f"column {name!r} has a role that is none", f"one of {', '.join(_ROLES)}")
            before = declared.get(name, {})
            if before.get("role") == plain and bool(before.get("sensitive")) == bool(also):
                continue
            spec = _column(document, name)
            spec["role"] = plain
            if also:
                spec["sensitive"] = True
            elif "sensitive" in spec:
                del spec["sensitive"]
        return self._of(document)

    def with_domain(self, name: str, keys: Mapping[str, Any]) -> EditedPolicy:
        """Return the policy in which a column has other keys; None takes a key away."""
        document = self._document()
        spec = _column(document, name)
        for key, value in keys.items():
            if value is None:
                if key in spec:
                    del spec[key]
            else:
                spec[key] = value
        return self._of(document)

    def with_one_row_a_person(self, *, one_row: bool) -> EditedPolicy:
        """Return the policy that says, or does not say, that no person has several rows."""
        document = self._document()
        if one_row == (document.get("unit") == "none"):
            return self
        if one_row:
            return EditedPolicy(text=f'unit = "none"\n{self.text}')
        del document["unit"]
        return self._of(document)

    @property
    def has_one_row_per_person(self) -> bool:
        """True where the policy says that no person has several rows."""
        return bool(_plain(self.text).get("unit") == "none")

    def with_names(self, names: Sequence[str]) -> EditedPolicy:
        """Return the policy with a role for every column that has none, by its name alone: no cell is read for it."""
        document = self._document()
        declared = self.columns()
        fresh = not self.text.strip()
        for name in names:
            if "role" in declared.get(name, {}):
                continue
            named = header_kind(name) is not HeaderKind.OTHER
            _column(document, name)["role"] = str(Role.IDENTIFIER if named else Role.QUASI_IDENTIFIER)
        drafted = self._of(document).text
        return EditedPolicy(text=(_BY_NAMES + drafted) if fresh else drafted)

    def with_recipients(self, recipients: Sequence[str]) -> EditedPolicy:
        """Return the policy in which others receive the table; none takes the list away."""
        import tomlkit

        document = self._document()
        table = document.get("publication")
        if recipients:
            if table is None:
                table = document["publication"] = tomlkit.table()
            table["recipients"] = list(recipients)
        elif table is not None and "recipients" in table:
            del table["recipients"]
        return self._of(document)

    def after_a_look(self) -> EditedPolicy:
        """Return the policy that says that the private table was looked at before its choices were made."""
        document = self._document()
        if document.get(LOOKED) is True:
            return self
        import tomlkit

        head = tomlkit.document()
        head.add(tomlkit.comment("the private table was looked at before these choices: the release says so"))
        head.add(LOOKED, True)
        if LOOKED in document:
            del document[LOOKED]
        return EditedPolicy(text=tomlkit.dumps(head) + tomlkit.dumps(document))


@lru_cache(maxsize=8)
def _plain(text: str) -> dict[str, Any]:
    """Return the content of a policy, which nobody changes: every page needs it several times.

    Raises
    ------
    PolicyError
        The text is not TOML.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise PolicyError("the policy is not TOML") from None


def _column(document: Any, name: str) -> Any:
    """Return the table of a column, made when there is none."""
    import tomlkit

    columns = document.get("columns")
    if columns is None:
        document["columns"] = tomlkit.table(is_super_table=True)
        columns = document["columns"]
    if name not in columns:
        columns[name] = tomlkit.table()
    return columns[name]


def taken_over(path: Path, folder: Path) -> str:
    """Return the text of a policy file, whose own files are found from another folder too; the file stays as it is.

    Hierarchies are copied to the folder, since they are the owner's: a ledger stays where it is.

    Raises
    ------
    PolicyError
        The file, or one that it names, cannot be read.
    """
    try:
        policy = EditedPolicy.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise PolicyError(f"policy file {str(path)!r} cannot be read", "anonkit init TABLE drafts one") from None
    for at, (name, spec) in enumerate(policy.columns().items()):
        if isinstance(spec.get("tree"), str):
            try:
                text = (path.parent / spec["tree"]).read_bytes().decode("latin-1")
            except OSError:
                raise PolicyError(f"column {name!r}: its tree file cannot be read", "give its path") from None
            policy = policy.with_domain(name, {"tree": write_tree(folder, at, text, encoding="latin-1")})
    document = policy._document()
    ledger = document.get("ledger")
    if isinstance(ledger, str) and "://" not in ledger:
        document["ledger"] = os.path.relpath((path.parent / ledger).absolute(), folder.absolute())
        return EditedPolicy._of(document).text
    return policy.text


def write_tree(folder: Path, number: int, text: str, encoding: str = "utf-8") -> str:
    """Write a hierarchy for its owner alone, and return its name seen from the folder; names of columns are no paths.

    `latin-1` writes the bytes of a file as they were.
    """
    version = 1
    while (folder / TREES / f"column-{number}-{version}.csv").exists():  # an undone step still names the one before
        version += 1
    name = f"{TREES}/column-{number}-{version}.csv"
    write_private(folder / name, text, encoding=encoding)
    return name


def read_tree(text: str) -> list[list[str]]:
    """Return the paths of a hierarchy that is given as CSV: a value, then its groups, the coarsest last.

    Raises
    ------
    PolicyError
        It has no rows, or rows of different lengths.
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    except csv.Error:
        raise PolicyError("the hierarchy is not CSV") from None
    if not rows or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        raise PolicyError(
            "a hierarchy has a line a value: the value and its groups, as many in every line", "flu,respiratory,any"
        )
    return rows


def tree_text(rows: Sequence[Sequence[str]]) -> str:
    """Return a hierarchy as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
