# SPDX-License-Identifier: Apache-2.0
"""Templates of the pages: self-contained HTML, everything in it escaped, nothing in it that runs or loads."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonkit.report.charts import safe_text
from anonkit.report.wording import heading, number, percent

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


def rendered(name: str, view: Mapping[str, Any]) -> str:
    """Return a page: a template by its name, filled with what it shows.

    The style of all pages comes first and that of the template after it, where it has one; the page's own content
    security policy allows exactly this text.
    """
    sheets = [path for path in (_TEMPLATES / "report.css", _TEMPLATES / f"{name}.css") if path.exists()]
    style = "".join(path.read_text(encoding="utf-8") for path in dict.fromkeys(sheets))
    digest = b64encode(sha256(style.encode()).digest()).decode()
    template = _environment().get_template(f"{name}.html.j2")
    return template.render(**view, style=style, style_hash=f"sha256-{digest}")


def fragment(name: str, view: Mapping[str, Any]) -> str:
    """Return a piece of HTML for another page: a template with its own style, filled with what it shows.

    The style holds for the piece alone: its selectors begin with the class of the piece.
    """
    style = (_TEMPLATES / f"{name}.css").read_text(encoding="utf-8")
    return _environment().get_template(f"{name}.html.j2").render(**view, style=style)


def make_ready() -> None:
    """Compile the templates of a report beforehand, where there is time for it."""
    for name in ("shared", "report"):
        _environment().get_template(f"{name}.html.j2")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters.update(number=number, percent=percent, heading=heading)
    return environment


def _printable(value: object) -> object:
    return safe_text(value) if type(value) is str else value  # text marked safe was made printable by its maker
