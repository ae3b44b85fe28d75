# SPDX-License-Identifier: Apache-2.0
"""Engines read, move and count rows. `Local` and `Spark` say which one, `open_engine` opens one by its name.

``engine_choice`` holds the two values, ``reading`` opens tables, ``local`` and ``spark`` are the two engines,
``writing`` shuffles rows and writes files. An engine moves and counts; it knows no method, promise or noise. Everything
that decides about privacy is in the batch functions that it is given, so that both engines release the same rows.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonkit.engines.engine_choice import ENGINES as ENGINES
    from anonkit.engines.engine_choice import Local as Local
    from anonkit.engines.engine_choice import Spark as Spark
    from anonkit.engines.engine_choice import is_spark_frame as is_spark_frame
    from anonkit.engines.engine_choice import open_engine as open_engine
    from anonkit.engines.local.local_engine import LocalEngine as LocalEngine

_CHOICE = "anonkit.engines.engine_choice"
_HOME = {
    "ENGINES": _CHOICE,
    "Local": _CHOICE,
    "LocalEngine": "anonkit.engines.local.local_engine",
    "Spark": _CHOICE,
    "is_spark_frame": _CHOICE,
    "open_engine": _CHOICE,
}
__all__ = ["ENGINES", "Local", "LocalEngine", "Spark", "is_spark_frame", "open_engine"]


def __getattr__(name: str) -> object:
    """Import a name when it is first used: pyarrow takes a tenth of a second."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
