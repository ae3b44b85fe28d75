# SPDX-License-Identifier: Apache-2.0
"""Single text files written by a command: atomically, and never over an existing file unless forced."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from anonkit.errors import EngineError, ParameterError


def refuse_existing(path: Path, force: bool, *, made_from: object = None) -> None:
    """Refuse to touch a file that is there, unless forced; forced or not, the source that it is made from."""
    if made_from is not None:
        from anonkit.bundle.signing import refuse_replacing
        from anonkit.engines.snapshots.addresses import files_of

        refuse_replacing([path], files_of(made_from))
    if path.exists() and not force:
        raise ParameterError(f"{str(path)!r} exists", "--force replaces it")


def write_text(path: Path, text: str, *, force: bool, private: bool = False) -> None:
    """Write a file, one that its owner alone may read where it is private.

    Raises
    ------
    ParameterError
        There is one already and `force` is not set.
    EngineError
        It cannot be written.
    """
    import secrets  # a tenth of the time that `anonkit --help` takes

    refuse_existing(path, force)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        part.touch(mode=0o600 if private else 0o666)
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise EngineError(f"cannot write {str(path)!r}: {os.strerror(error.errno or 0)}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
