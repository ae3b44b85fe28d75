# SPDX-License-Identifier: Apache-2.0
"""The owner's page of a table's risk before any release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anonkit.report.document import OWNER_BANNER
from anonkit.report.page_templates import rendered


@dataclass(frozen=True, kw_only=True)
class RiskTable:
    """One table of figures, as text."""

    heading: str
    names: Sequence[str]
    """Of the columns."""
    rows: Sequence[Sequence[str]]
    """As many cells each as there are names."""


def risk_page(title: str, tables: Sequence[RiskTable]) -> str:
    """Return the figures of `anonkit risk` as one page without scripts or outside references.

    Privacy
    -------
    For the owner: the page carries the banner that says so.
    """
    return rendered("risk", {"title": title, "banner": OWNER_BANNER, "tables": tables})
