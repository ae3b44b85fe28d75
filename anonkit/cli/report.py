# SPDX-License-Identifier: Apache-2.0
"""`anonkit report`: the privacy report of a release, in the terminal or as a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from anonkit.cli.boundary import one_line
from anonkit.cli.files import write_text
from anonkit.cli.options import force_option, json_option
from anonkit.cli.outcome import Outcome
from anonkit.errors import ParameterError, ReleaseFormatError

_LONGEST = 80


@click.command(name="report")
@click.argument("release", metavar="OUT")
@click.option("--html", "page", metavar="PATH", help="Render the page anew, into this file.")
@click.option("--diff", "older", metavar="B", help="Show what differs from the report of this earlier release.")
@force_option
@json_option
def command(release: str, *, page: str | None, older: str | None, force: bool) -> Outcome:
    """Show the privacy report of a release.

    \b
    anonkit report out.parquet
    anonkit report out.parquet --json
    anonkit report out.report.json --html review.html
    anonkit report out.parquet --diff last-year.parquet

    The claim, its limits and the key figures. `anonkit validate` tells whether the files still agree with it.
    """
    from anonkit.atomic import recover
    from anonkit.bundle import PAGE, REPORT, Place, read_json
    from anonkit.cli.summary import report_text
    from anonkit.page import render_page
    from anonkit.report import FORMAT

    if older is not None:
        return _difference(release, older)
    place = Place.of(release)
    recover(place.folder, place.stem)
    path = place.file(REPORT)
    report = read_json(path)
    try:
        if report["format"] != FORMAT:
            raise ReleaseFormatError(f"{str(path)!r} is of format {report['format']!r}", f"this is {FORMAT}")
        text = report_text(report)
        rendered = None if page is None else render_page(report)
    except (KeyError, TypeError, AttributeError):
        raise ReleaseFormatError(f"{str(path)!r} is damaged", "anonkit validate tells what was changed") from None
    if page is None or rendered is None:
        return Outcome(text=text, document={"report": report})
    written = Path(page)
    if written.resolve() == place.file(PAGE).resolve():
        raise ParameterError(f"{page!r} is a file of the release, its hash is published", "name another file")
    write_text(written, rendered, force=force)
    return Outcome(text=f"Wrote {written}", document={"file": str(written)})


def _difference(newer: str, older: str) -> Outcome:
    """Return what differs between two reports, the promise first."""
    from anonkit.bundle import REPORT, Place, read_json
    from anonkit.report_diff import diff_reports
    from anonkit.wording import number

    found = diff_reports(*(read_json(Place.of(one).file(REPORT)) for one in (newer, older)))
    head = click.style(f"{one_line(newer)} against {one_line(older)}: {found.verdict}", bold=True)
    lines = [
        f"  {one_line(one.key)}: {_shown(one.before, number)} -> {_shown(one.after, number)}"
        for one in found.differences
    ]
    return Outcome(text="\n".join([head, *(lines or ["  nothing differs"])]), document=found.to_dict())


def _shown(value: object, number: Callable[[Any], str]) -> str:
    text = "nothing" if value is None else one_line(number(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
