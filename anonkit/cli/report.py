# SPDX-License-Identifier: Apache-2.0
"""`anonkit report`: the privacy report of a release, in the terminal or as a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line
from anonkit.cli.files import write_text
from anonkit.cli.options import force_option, json_option
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import ParameterError, ReleaseFormatError

if TYPE_CHECKING:
    from anonkit.bundle.stored_release import Place

_LONGEST = 80


@click.command(name="report")
@click.argument("release", metavar="OUT")
@click.option("--html", "page", metavar="PATH", help="Render the page anew, into this file.")
@click.option("--diff", "older", metavar="B", help="Show what differs from the report of this earlier release.")
@click.option("--audit", metavar="FILE", help="With --html: what `anonkit audit --owner-report` wrote; for the owner.")
@force_option
@json_option
def command(release: str, *, page: str | None, older: str | None, audit: str | None, force: bool) -> Outcome:
    """Show the privacy report of a release.

    \b
    anonkit report out.parquet
    anonkit report out.parquet --json
    anonkit report out.report.json --html review.html
    anonkit report out.parquet --diff last-year.parquet
    anonkit report out.parquet --audit private/audit.owner.report.json --html private/review.html

    The claim, its limits and the key figures. `anonkit validate` tells whether the files still agree with it. The first
    sheet of the page is what a reviewer reads first; with --audit it is for the owner, and kept out of the release.
    """
    from anonkit.bundle.atomic import recover
    from anonkit.bundle.stored_release import REPORT, Place, read_json
    from anonkit.cli.summary import report_text
    from anonkit.report.document import FORMAT

    if audit is not None and page is None:
        raise WrongUsage("--audit is shown on a page", "--html private/review.html")
    if older is not None and page is None:
        return _difference(release, older)
    place = Place.of(release)
    recover(place.folder, place.stem)
    path = place.file(REPORT)
    report = read_json(path)
    try:
        if report["format"] != FORMAT:
            raise ReleaseFormatError(f"{str(path)!r} is of format {report['format']!r}", f"this is {FORMAT}")
        text = report_text(report)
    except (KeyError, TypeError, AttributeError):
        raise ReleaseFormatError(f"{str(path)!r} is damaged", "anonkit validate tells what was changed") from None
    if page is None:
        return Outcome(text=text, document={"report": report})
    _write_page(Path(page), place, report, older, audit, force)
    return Outcome(text=f"Wrote {page}", document={"file": page})


def _write_page(
    page: Path, place: Place, report: dict[str, Any], older: str | None, audit: str | None, force: bool
) -> None:
    """Render a page anew, never over a file of the release; one with an audit never beside it, for the owner alone."""
    from anonkit.bundle.stored_release import PAGE, REPORT, Place, read_json
    from anonkit.pipeline.release_output import refuse_beside_release
    from anonkit.report.page import render_page

    if page.resolve() == place.file(PAGE).resolve():
        raise ParameterError(f"{str(page)!r} is a file of the release, its hash is published", "name another file")
    if audit is not None:
        refuse_beside_release(page.parent, place.folder)
    before = None if older is None else read_json(Place.of(older).file(REPORT))
    audited = None if audit is None else _audit_of(place, audit)
    write_text(page, render_page(report, audit=audited, older=before), force=force, private=audited is not None)


def _audit_of(place: Place, path: str) -> dict[str, Any]:
    """Return what an audit found, when it is one of this release."""
    from anonkit.bundle.stored_release import DATA, read_json, sha256

    document = read_json(Path(path))
    if not isinstance(document.get("audit"), dict) or document.get("data_sha256") != sha256(place.file(DATA)):
        raise ReleaseFormatError(f"{path!r} is no audit of this release", "anonkit audit OUT --owner-report DIR")
    audited: dict[str, Any] = document["audit"]
    return audited


def _difference(newer: str, older: str) -> Outcome:
    """Return what differs between two reports, the promise first."""
    from anonkit.bundle.stored_release import REPORT, Place, read_json
    from anonkit.report.differences import diff_reports
    from anonkit.report.wording import number

    comparison = diff_reports(*(read_json(Place.of(change).file(REPORT)) for change in (newer, older)))
    head = click.style(f"{one_line(newer)} against {one_line(older)}: {comparison.verdict}", bold=True)
    lines = [
        f"  {one_line(change.key)}: {_shown(change.before, number)} -> {_shown(change.after, number)}"
        for change in comparison.differences
    ]
    return Outcome(text="\n".join([head, *(lines or ["  nothing differs"])]), document=comparison.to_dict())


def _shown(value: object, number: Callable[[Any], str]) -> str:
    text = "nothing" if value is None else one_line(number(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
