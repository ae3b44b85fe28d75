# SPDX-License-Identifier: Apache-2.0
"""The steps of a release before it begins, so that progress can say how many there are."""

from __future__ import annotations

from anonkit.protocols import Method


def release_steps(method: Method) -> tuple[str, ...]:
    """Return the names of the steps of a release in their order, empty for a method that does not name its own.

    Large tables and populations take a step more, which comes as it comes.
    """
    own: tuple[str, ...] = getattr(method, "progress_steps", ())
    return ("reading", *own, "checking") if own else ()
