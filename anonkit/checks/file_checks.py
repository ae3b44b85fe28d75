# SPDX-License-Identifier: Apache-2.0
"""The two moments of a check: while a release is written, and once its report is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from anonkit.promises.guarantee import Check


class FileChecks(NamedTuple):
    """The checks of a release's files, as they come out now."""

    made: Sequence[Check]
    """Those that were made of its draft, too: its report has to state them, each as it comes out."""
    later: Sequence[Check]
    """Those of what was not there yet, such as the report: no report can state them."""
