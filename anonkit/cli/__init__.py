# SPDX-License-Identifier: Apache-2.0
"""The command line: one small module per command, imported on first use, and one boundary for all errors.

A command parses its options, builds the library's values, calls one public function and hands back an outcome. No
command computes, and none prints or exits: the boundary does.

``commands``
    The group of them all, and the options of every method. Nothing of it is imported before `main` has started the
    process for forests, if there is one.
``boundary``, ``outcome``, ``summary``
    Results, errors, exit codes and the line of progress, once for all commands.
``options``, ``files``
    Options shared by commands, and text files that commands write.
``release``, ``apply``, ``run``, ``demo``, ``init``
    Commands that make a release or a policy.
``validate``, ``audit``, ``compare``, ``reconstruct``, ``report``, ``ledger``, ``methods``
    Commands that read: a release, a table, the ledger, the list of methods.
``export``
    A release in another form.
``completion``, ``precommit``
    Shell completion and hooks for pre-commit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from anonkit.cli.commands import COMMANDS as COMMANDS
    from anonkit.cli.commands import anonkit as anonkit


def main() -> NoReturn:
    """Run the command line of this process."""
    args = sys.argv[1:] or ["--help"]
    _open_what_is_closed()
    for library in _LINEAR_ALGEBRA:  # of small matrices (`anonkit.published.one_thread`); set before it is imported
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    with _forests_beside(args):
        from anonkit.cli.boundary import run
        from anonkit.cli.commands import anonkit

        code = run(anonkit, args, "anonkit")
    sys.exit(code)


def _open_what_is_closed() -> None:
    """Open closed standard streams on the null device: the next opened file would take their place.

    Input that is closed stays so in Python, where its reader gets an error.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            if number:
                setattr(sys, name, open(number, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process


def __getattr__(name: str) -> Any:
    """Import the group, or the table of its commands, at its first use."""
    if name in ("COMMANDS", "anonkit"):
        from anonkit.cli import commands

        return getattr(commands, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_LINEAR_ALGEBRA = ("OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")
_GUIDED_BY_FORESTS = ("rfka", "mondrian")
_BOOSTED = ("mondrian",)
_TREES = ("sklearn.tree",)
_BOOSTING = ("sklearn.ensemble", "sklearn.tree")
"""Imports of a release that trains forests, and of nothing else in it."""
_SCORING = ("pyarrow.compute", "sklearn.model_selection", "anonkit.utility.class_utility")
"""Imports of scoring a table's use, after its recoding was found."""
_COMPARING = "anonkit.comparing.comparison"
"""Imports of the releases, models and attacks of a comparison."""
_NO_FORESTS = ("pandas", "psutil", "rich")
"""Optional imports of these, which no forest needs."""
_HARDLY_CALLED = (
    "scipy.stats",
    "sklearn.compose._target",
    "sklearn.ensemble._stacking",
    "sklearn.metrics._ranking",
    "sklearn.metrics.cluster",
    "sklearn.metrics.pairwise",
    "sklearn.preprocessing._polynomial",
)
"""Imports of these for functions and classes that forests hardly call."""
_OTHER_MODELS = (
    "asyncio",
    "numpy.f2py",
    "numpy.testing",
    "scipy.fft",
    "scipy.optimize",
    "scipy.spatial.transform",
    "sklearn.neighbors",
)
"""Packages that these import for one module, or for nothing that is used: with the above more than half of the time."""


def _needed_later() -> None:
    """Import what the command needs once the forests are grown, and make ready what its page is made of."""
    import duckdb  # noqa: F401

    from anonkit.report.document import make_ready

    make_ready()


def _comparing_beside() -> AbstractContextManager[None]:
    """Have a process that makes and measures releases of a comparison while others are made here."""
    from anonkit.utility.learning_process import Imports, learning_beside

    return learning_beside(Imports(first=(_COMPARING,)))


def _forests_beside(args: Sequence[str]) -> AbstractContextManager[None]:
    """Have a process ready for the forests of a k-anonymous release, before anything about it has been imported.

    What the words say is a guess: no release needs the process, and one that has it for nothing ends it.
    """
    words = [part for arg in args for part in arg.split("=", 1)]
    if args[0] == "compare" and not {"--help", "-h"} & set(words):
        return _comparing_beside()
    forests = "--k" in words or any(method in words for method in _GUIDED_BY_FORESTS)
    needed = args[0] == "release" and forests and not {"--help", "-h"} & set(words)
    if not needed:
        return nullcontext()
    from anonkit.utility.learning_process import Imports, learning_beside

    imports = Imports(
        first=_BOOSTING if set(_BOOSTED) & set(words) else _TREES,
        then=_SCORING,
        without=_NO_FORESTS,
        late=_HARDLY_CALLED,
        unread=_OTHER_MODELS,
    )
    return learning_beside(imports, _needed_later)
