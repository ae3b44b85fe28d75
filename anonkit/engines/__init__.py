# SPDX-License-Identifier: Apache-2.0
"""Engines move and count rows. `open_engine` is the only place that turns a name into one."""

from __future__ import annotations

from anonkit.engines.local import LocalEngine
from anonkit.errors import ParameterError, did_you_mean
from anonkit.protocols import Engine

ENGINES = ("local",)

__all__ = ["ENGINES", "LocalEngine", "open_engine"]


def open_engine(name: str) -> Engine:
    """Return a new engine by name; use it as a context manager so that its private files are deleted."""
    if name == "local":
        return LocalEngine()
    raise ParameterError(f"engine ({name}) is not known", did_you_mean(name, ENGINES))
