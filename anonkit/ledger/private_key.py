# SPDX-License-Identifier: Apache-2.0
"""The ledger's key for fingerprints: in a private file or in the environment, never inside, never on a server."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from anonkit.bundle.private_files import write_private
from anonkit.errors import LedgerError

VARIABLE = "ANONKIT_LEDGER_KEY"
"""Environment variable that holds the key, before any file."""
FILE_VARIABLE = "ANONKIT_LEDGER_KEY_FILE"
"""Environment variable that names the file of the key, before its usual place."""
SUFFIX = ".key"
"""Suffix of the key's file, after the name of the ledger."""
SIZE = 32
"""Bytes of a key, written as 64 hexadecimal digits."""

_DIGITS = re.compile(rf"[0-9a-fA-F]{{{2 * SIZE}}}")
_HOW = f"{2 * SIZE} hexadecimal digits: openssl rand -hex {SIZE}"


def key_file(ledger: Path) -> Path:
    """Return the file of the key of a ledger when the environment has none."""
    return ledger.with_name(ledger.name + SUFFIX)


def private_folder() -> Path:
    """Return the folder of the keys of servers' ledgers: the owner's folder of settings."""
    settings = os.environ.get("XDG_CONFIG_HOME")
    if settings:
        return Path(settings) / "anonkit"
    try:
        return Path.home() / ".config" / "anonkit"
    except RuntimeError:  # a user without a home, as in some containers, has no private files: nothing is found there
        return Path(os.devnull) / "anonkit"


def key_place(beside: Path) -> str:
    """Return the place of a key, in words: an environment variable, the file that one names, or its own file."""
    return VARIABLE if VARIABLE in os.environ else str(_named(beside))


def _named(beside: Path) -> Path:
    given = os.environ.get(FILE_VARIABLE)
    return Path(given).expanduser() if given else beside


def key_of(beside: Path) -> bytes | None:
    """Return the key of a ledger, 32 bytes; None where there is none.

    Parameters
    ----------
    beside : Path
        The file of the key when the environment names none.

    Raises
    ------
    LedgerError
        The file is no key, or cannot be read. It is not shown.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        return _read(given, f"the environment variable {VARIABLE}")
    path = _named(beside)
    try:
        close_to_others(path)
        return _read(path.read_text(encoding="ascii"), f"the key file {str(path)!r}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        return _read("", f"the key file {str(path)!r}")
    except OSError as error:
        raise LedgerError(f"the key file {str(path)!r} cannot be read: {os.strerror(error.errno or 0)}") from None


def keep_key(beside: Path, key: bytes | None = None) -> bytes:
    """Write the key of a ledger into its private file, mode 0600, durable and whole or not at all; return it.

    Parameters
    ----------
    key : bytes, optional
        A new one by default.
    """
    kept = secrets.token_bytes(SIZE) if key is None else key
    path = _named(beside)
    try:
        write_private(path, kept.hex() + "\n")
    except OSError as error:
        raise LedgerError(f"the key file {str(path)!r} cannot be written: {os.strerror(error.errno or 0)}") from None
    return kept


def drop_key(beside: Path, key: bytes) -> None:
    """Delete the private file of a key that nothing was signed with; one with another key stays."""
    path = _named(beside)
    with suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="ascii").strip() == key.hex():
            path.unlink()


def close_to_others(path: Path) -> None:
    """Take back what others may do with a private file, where it is ours.

    Raises
    ------
    OSError
        It is not there.
    """
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        with suppress(PermissionError):  # somebody else's file is not ours to close
            path.chmod(0o600)


def sign_of(key: bytes) -> bytes:
    """Return the sign by which a ledger distinguishes its key from any other, 16 bytes; it recognizes nothing else."""
    return hashlib.blake2b(b"the key of this ledger", key=key, digest_size=16, person=b"key check").digest()


def missing_key(ledger: str, beside: Path) -> LedgerError:
    """Return the error for a ledger whose key is gone."""
    return LedgerError(
        f"the ledger {ledger!r} has lost its key: neither {str(_named(beside))!r} nor {VARIABLE} is there, so "
        "that no table is known again",
        f"put the key back, from a backup, or into {VARIABLE}; anonkit ledger shows the budgets without it",
    )


def wrong_key(ledger: str, beside: Path) -> LedgerError:
    """Return the error for a key that is another ledger's."""
    return LedgerError(
        f"the key in {key_place(beside)} is not that of the ledger {ledger!r}: no table would be known again",
        f"each ledger has its own; it was made with the ledger, in {beside.name!r} unless the environment named one",
    )


def _read(text: str, where: str) -> bytes:
    if not _DIGITS.fullmatch(text.strip()):
        raise LedgerError(f"{where} holds no key", _HOW)
    return bytes.fromhex(text.strip())
