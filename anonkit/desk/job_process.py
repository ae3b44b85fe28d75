# SPDX-License-Identifier: Apache-2.0
"""A worker of the desk: it gets an order, reports its progress, and sends results or the reason for none."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from anonkit.errors import AnonkitError, InternalError, warnings_unsaid

WHAT_JOBS_IMPORT = "anonkit.desk.job_imports"
"""Module that the process imports from which workers begin: the desk itself needs none of it."""
READS_CELLS = ("draft", "risk")
"""Kinds that show what the cells of the private table are, whatever their order says."""


def nothing() -> None:
    """Do nothing: the process from which workers begin is there then."""


def work(kind: str, order: Mapping[str, Any], connection: Connection, environment: Mapping[str, str]) -> None:
    """Do a job, and say how it went.

    Parameters
    ----------
    kind : str
        One of `job_kinds.KINDS`.
    order : mapping
        What it is given, of plain values.
    connection : Connection
        What results and progress are sent through.
    environment : mapping
        Variables of the desk, such as the one that names the ledger: those of the process from which workers begin are
        of the time when the first of them did.

    Privacy
    -------
    Nothing is written to the terminal, and of an exception that nobody put into words only its type and its place are
    reported: its text may quote cells.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the desk ends its workers itself
    signal.signal(signal.SIGTERM, _ended)  # so that private files are deleted
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silent, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    os.environ.clear()
    os.environ.update(environment)
    from anonkit.desk import job_kinds

    said = job_kinds.Said(send=connection.send)
    try:
        with warnings_unsaid():
            connection.send(("done", job_kinds.KINDS[kind](order, said)))
    except AnonkitError as error:
        message, hint = error.for_command_line()
        connection.send(("failed", (message, hint or "")))
    except Exception as error:
        connection.send(("failed", (InternalError.of(error).message, "please report this line")))
    finally:
        connection.close()


def _ended(*_: object) -> None:
    raise SystemExit(0)
