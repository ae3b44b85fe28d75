# SPDX-License-Identifier: Apache-2.0
"""The last release that this machine has seen in a server's ledger: a restored backup, which forgets it, is noticed."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from anonkit.bundle.atomic import reason_of
from anonkit.bundle.private_files import write_private
from anonkit.errors import LedgerError

SUFFIX = ".seen"


def seen_file(key_file: Path) -> Path:
    """Return the file of the mark: beside the key, or where the key would be."""
    return key_file.with_name(key_file.name + SUFFIX)


def remember_seen(key_file: Path, number: int, digest: str) -> None:
    """Keep the number and the digest of a release, unless a later one is kept.

    On a machine that keeps no files (a folder that cannot be written) nothing is kept, and nothing will be noticed.
    """
    kept = last_seen(key_file)
    if kept is None or kept[0] < number:
        with suppress(OSError):
            write_private(seen_file(key_file), json.dumps({"release": number, "digest": digest}))


def last_seen(key_file: Path) -> tuple[int, str] | None:
    """Return the number and the digest of the last release that is remembered; None when none is.

    Raises
    ------
    LedgerError
        The file cannot be read, or is no mark.
    """
    path = seen_file(key_file)
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return int(kept["release"]), str(kept["digest"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LedgerError(f"{str(path)!r} cannot be read: {reason_of(error)}") from None
    except (ValueError, KeyError, TypeError):
        raise LedgerError(f"{str(path)!r} is damaged", "it says which release of the ledger was seen last") from None


def forgotten(place: str, key_file: Path, number: int) -> LedgerError:
    """Return the error for a ledger that lacks a release which this machine has seen."""
    return LedgerError(
        f"the ledger {place!r} has forgotten release {number}, which this machine has seen in it: a backup was put "
        "back, and what was spent since does not count there",
        f"lower the budgets by what was spent since, then delete {str(seen_file(key_file))!r}",
    )
