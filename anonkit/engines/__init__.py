# SPDX-License-Identifier: Apache-2.0
"""Engines move and count rows. `open_engine` is the only place that turns a name into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonkit.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from anonkit.engines.local import LocalEngine

ENGINES = ("local",)

__all__ = ["ENGINES", "LocalEngine", "open_engine"]


def open_engine(name: str) -> LocalEngine:
    """Return a new engine by name; close it, or use it as a context manager, so that its private files go.

    Raises
    ------
    ParameterError
        There is no engine of this name.
    """
    if name == "local":
        from anonkit.engines.local import LocalEngine

        return LocalEngine()
    raise ParameterError(f"engine ({name}) is not known", did_you_mean(name, ENGINES))


def __getattr__(name: str) -> Any:
    """Import an engine when it is first used: pyarrow takes a tenth of a second."""
    if name == "LocalEngine":
        from anonkit.engines.local import LocalEngine

        return LocalEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
