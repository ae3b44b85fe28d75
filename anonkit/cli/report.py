# SPDX-License-Identifier: Apache-2.0
"""`anonkit report`: the privacy report of a release, in the terminal or as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line, progress_line
from anonkit.cli.commands import ShortHelp
from anonkit.cli.files import write_text
from anonkit.cli.options import encoding_option, examples_option, force_option, json_option, reading_options
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import ReleaseFormatError, on_command_line

if TYPE_CHECKING:
    from anonkit.bundle.release_place import Place

_LONGEST = 80
_WIDTH = 100


@click.command(cls=ShortHelp, name="report")
@click.argument("release", metavar="OUT")
@click.option("--html", "page", metavar="PATH", help="Render the page anew, into this file.")
@click.option("--diff", "older", metavar="B", help="Show what differs from the report of this earlier release.")
@click.option(
    "--audit",
    metavar="FILE",
    help="With --html or --dossier: what `anonkit audit --owner-report` wrote; for the owner.",
)
@click.option(
    "--profile",
    metavar="NAME",
    help="Evidence for a rule: hipaa-safe-harbor, hipaa-expert, gdpr-research, ehds, nist-800-226.",
)
@click.option("--dossier", is_flag=True, help="Make the owner's page, which is signed and never published.")
@click.option("--original", metavar="IN", help="With --dossier: the table the release was made from.")
@click.option(
    "--policy", metavar="FILE", help="With --dossier: what the owner declared; default: what the release tells."
)
@encoding_option
@reading_options
@examples_option
@click.option(
    "--owner-report",
    metavar="DIR",
    help="With --dossier: where it goes; default: a folder owner-NAME beside the release.",
)
@force_option
@json_option
def command(
    release: str,
    *,
    page: str | None,
    older: str | None,
    audit: str | None,
    profile: str | None,
    dossier: bool,
    force: bool,
    **given: Any,
) -> Outcome:
    """Show the privacy report of a release.

    \b
    anonkit report out.parquet
    anonkit report out.parquet --json
    anonkit report out.report.json --html review.html
    anonkit report out.parquet --diff last-year.parquet
    anonkit report out.parquet --profile hipaa-safe-harbor
    anonkit report out.parquet --audit private/audit.owner.report.json --html private/review.html
    anonkit report out.parquet --dossier --original in.csv --policy policy.toml

    The claim, its limits and the key figures. `anonkit validate` tells whether the files still agree with it. The first
    sheet of the page is what a reviewer reads first; with --audit it is for the owner, and kept out of the release.
    """
    from anonkit.bundle.atomic import finish
    from anonkit.bundle.json_documents import read_json
    from anonkit.bundle.release_place import REPORT, Place, refuse_unfit_files
    from anonkit.cli.summary import report_text
    from anonkit.report.document import FORMAT

    if dossier:
        if page is not None or older is not None:
            raise WrongUsage("--dossier is a page of its own, without --html and --diff")
        return _dossier(release, audit, **given)
    _refuse_without_dossier({**given.pop("how"), **given})
    if profile is not None:
        if page is not None or older is not None or audit is not None:
            raise WrongUsage("--profile is a checklist of its own, without --html, --diff and --audit")
        return _profile(release, profile)
    if audit is not None and page is None:
        raise WrongUsage("--audit is shown on a page", "--html private/review.html")
    if older is not None and page is None:
        return _difference(release, older)
    place = Place.of(release)
    if place.store is not None:
        place.store.require()
    else:
        finish(place.folder, place.stem)
        refuse_unfit_files(place)
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


def _profile(release: str, name: str) -> Outcome:
    """Return a checklist with evidence, in the terminal and as JSON."""
    from anonkit.pipeline.profiles.profile_evidence import NO_VERDICT, EvidenceState
    from anonkit.pipeline.profiles.release_profile import release_profile

    profile = release_profile(release, name)
    marks = {EvidenceState.EVIDENCE: "✓", EvidenceState.OPEN: "?", EvidenceState.AGAINST: "✗"}
    counts = ", ".join(
        f"{profile.count(state)} {words}"
        for state, words in (
            (EvidenceState.EVIDENCE, "with evidence (✓)"),
            (EvidenceState.OPEN, "open: a person has to say (?)"),
            (EvidenceState.AGAINST, "against (✗)"),
        )
    )
    lines = [click.style(profile.title, bold=True), profile.source, f"{counts}. {NO_VERDICT}", ""]
    for item in profile.items:
        text = f"{marks[item.state]} {item.requirement}. {one_line(on_command_line(item.evidence))}"
        lines += textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return Outcome(text="\n".join(lines), document={"profile": profile.in_words(on_command_line).to_dict()})


def _refuse_without_dossier(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value:
            raise WrongUsage(f"--{name.replace('_', '-')} is for --dossier")


def _dossier(
    release: str,
    audit: str | None,
    *,
    original: str | None,
    policy: str | None,
    encoding: str | None,
    how: Mapping[str, Any],
    examples: int,
    owner_report: str | None,
) -> Outcome:
    """Make the owner's page of a stored release, in a folder that is not handed out."""
    from anonkit.bundle.stored_release import load
    from anonkit.engines.snapshots.addresses import source_at
    from anonkit.pipeline.release_space import refuse_within_release
    from anonkit.pipeline.stored_dossier import DOSSIER_STEPS, source_policy, stored_dossier, write_stored_dossier
    from anonkit.policy.declaration import Policy

    if original is None:
        raise WrongUsage("--dossier needs the table the release was made from", "--original IN")
    loaded = load(release)
    place = loaded.place
    assert place is not None  # noqa: S101 - it was loaded from files
    if owner_report is not None:
        folder = Path(owner_report)
    elif place.store is not None:
        raise WrongUsage("a release in a store has no folder beside it", "--owner-report DIR names one")
    else:  # a release that has a folder for itself is handed out with it
        folder = (place.folder.parent if place.folder.resolve().name == place.stem else place.folder) / (
            f"owner-{place.stem}"
        )
    refuse_within_release(folder, place)
    with progress_line(quiet=False, steps=DOSSIER_STEPS) as progress:
        made = stored_dossier(
            loaded,
            source_at(original, **how),
            policy=source_policy(loaded, None if policy is None else Policy.load(policy), encoding),
            examples=examples,
            audit=None if audit is None else _audit_of(place, audit),
            progress=progress,
        )
    report, page = write_stored_dossier(made, loaded, folder)
    return Outcome(
        text=f"Wrote {one_line(str(page))}\nIn figures: {one_line(str(report))}",
        document={"file": str(page), "owner_report": str(report)},
    )


def _write_page(
    page: Path, place: Place, report: dict[str, Any], older: str | None, audit: str | None, force: bool
) -> None:
    """Render a page anew, never over a file of the release; one with an audit never beside it, for the owner alone."""
    from anonkit.bundle.signing import refuse_replacing
    from anonkit.pipeline.release_space import refuse_within_release
    from anonkit.report.page import render_page

    refuse_replacing([page], [*place.on_this_machine(), *(Path(path) for path in (older, audit) if path is not None)])
    if audit is not None:
        refuse_within_release(page.parent, place)
    before = None if older is None else _report_of(older)
    audited = None if audit is None else _audit_of(place, audit)
    write_text(
        page,
        render_page(report, name=place.stem, audit=audited, older=before),
        force=force,
        private=audited is not None,
    )


def _audit_of(place: Place, path: str) -> dict[str, Any]:
    """Return the findings of an audit, when it is one of this release."""
    from anonkit.bundle.json_documents import read_json

    document = read_json(Path(path))
    if not isinstance(document.get("audit"), dict) or document.get("data_sha256") != place.data_digest():
        raise ReleaseFormatError(f"{path!r} is no audit of this release", "anonkit audit OUT --owner-report DIR")
    audited: dict[str, Any] = document["audit"]
    return audited


def _report_of(release: str) -> dict[str, Any]:
    from anonkit.bundle.json_documents import read_json
    from anonkit.bundle.release_place import REPORT, Place

    place = Place.of(release)  # kept while its file is read: what is fetched from a store goes with it
    return read_json(place.file(REPORT))


def _difference(newer: str, older: str) -> Outcome:
    """Return the differences of two reports, the promise first."""
    from anonkit.report.document import diff_reports
    from anonkit.report.wording import number

    comparison = diff_reports(*map(_report_of, (newer, older)))
    head = click.style(f"{one_line(newer)} against {one_line(older)}: {comparison.verdict}", bold=True)
    lines = [
        f"  {one_line(change.key)}: {_shown(change.before, number)} -> {_shown(change.after, number)}"
        for change in comparison.differences
    ]
    return Outcome(text="\n".join([head, *(lines or ["  nothing differs"])]), document=comparison.to_dict())


def _shown(value: object, number: Callable[[Any], str]) -> str:
    text = "nothing" if value is None else one_line(number(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
