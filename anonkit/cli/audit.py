# SPDX-License-Identifier: Apache-2.0
"""`anonkit audit`: attacks on a release by its owner, each with its controls."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line, progress_line
from anonkit.cli.commands import ShortHelp
from anonkit.cli.options import encoding_option, json_option, quiet_option, reading_options
from anonkit.cli.outcome import Outcome
from anonkit.errors import EngineError, ParameterError, SourceError, on_command_line

if TYPE_CHECKING:
    from anonkit.auditing.attacks.battery import Audit
    from anonkit.auditing.attacks.success_rates import Attack, LossBound

OWNER_FILE = "audit.owner.report.json"


@click.command(cls=ShortHelp, name="audit")
@click.argument("release", metavar="OUT")
@click.option("--original", metavar="IN", required=True, help="Table from which the release was made.")
@click.option("--control", metavar="C", help="Rows of the same population that were not released.")
@encoding_option
@reading_options
@click.option("--sensitive", metavar="COLUMN", multiple=True, help="Infer this column too; repeatable.")
@click.option(
    "--qi",
    metavar="A,B",
    multiple=True,
    help="Columns that a weaker attacker knows; default: the release's quasi-identifiers.",
)
@click.option("--attacks", type=click.IntRange(min=10), default=500, show_default=True, help="People attacked.")
@click.option(
    "--runs",
    type=click.IntRange(min=0),
    help="How often noise is drawn again to bound epsilon from below; default: some seconds long; 0: not at all.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random choice of people.")
@click.option(
    "--owner-report", metavar="DIR", help="Write the result into this folder too, as audit.owner.report.json."
)
@quiet_option
@json_option
def command(
    release: str,
    *,
    original: str,
    control: str | None,
    encoding: str | None,
    how: Mapping[str, Any],
    sensitive: tuple[str, ...],
    qi: tuple[str, ...],
    attacks: int,
    runs: int | None,
    seed: int,
    owner_report: str | None,
    quiet: bool,
) -> Outcome:
    """Attack a release, for its owner's eyes only.

    \b
    anonkit audit out.parquet --original in.csv
    anonkit audit out.parquet --original in.csv --control held-out.csv --json
    anonkit audit out.parquet --original in.csv --owner-report private
    anonkit audit any.csv --original in.csv --sensitive illness --qi age,zip,sex

    `anonkit report OUT --audit FILE --html PAGE` makes a page of what --owner-report wrote.

    Singling out, linkability and inference, by an attacker who knows every released column of a person in the source.
    Each is run on the source itself, on the source with every value renamed, and on the release with its columns
    shuffled. Risk is (attack - control) / (1 - control), with its 95 % interval. Where an epsilon is claimed, the
    randomization is run again on neighbouring inputs, in memory, for a lower bound beside the claim.
    """
    from anonkit.auditing import audit
    from anonkit.auditing.attacks.battery import AUDIT_STEPS
    from anonkit.engines.snapshots.addresses import refuse_absent
    from anonkit.pipeline.dossier import write_owner_document
    from anonkit.report.document import OWNER_BANNER

    is_stored = _is_in_store(release)
    if not is_stored and not Path(release).exists():
        raise SourceError(f"{release!r} does not exist")
    for source in (original, control):
        if source is not None:
            refuse_absent(source)
    folder = None if owner_report is None else _owner_folder(Path(owner_report), None if is_stored else Path(release))
    names = [name.strip() for column in qi for name in column.split(",")]
    with progress_line(quiet, steps=AUDIT_STEPS) as progress:
        audited = audit(
            release,
            original,
            control=control,
            encoding=encoding,
            sensitive=sensitive,
            quasi_identifiers=names or None,
            attacks=attacks,
            runs=runs,
            seed=seed,
            progress=progress,
            **how,
        )
    written = None
    if folder is not None:
        measures = {
            "release": Path(release).name,
            "data_sha256": _hash_of(release),
            "attacks": attacks,
            "seed": seed,
            "audit": audited.to_dict(),
        }
        written = str(write_owner_document(folder, OWNER_FILE, measures))
    return Outcome(
        text=_text(release, audited, OWNER_BANNER) + ("" if written is None else f"\nWrote {one_line(written)}"),
        document={"banner": OWNER_BANNER, **audited.to_dict(), "owner_report": written},
        notes=[*(column.note for column in audited.attacks if column.note is not None), *audited.notes],
        quiet=quiet,
    )


def _is_in_store(release: str) -> bool:
    """Return True if a named release is in an object store, by its address."""
    from anonkit.bundle.release_place import Place

    try:
        return Place.of(release).store is not None
    except ParameterError:
        return False


def _owner_folder(folder: Path, release: Path | None) -> Path:
    """Return the owner's folder, or refuse it before minutes are spent on attacks; None: the release is elsewhere."""
    from anonkit.bundle.data_files import is_data_folder
    from anonkit.pipeline.release_space import refuse_beside_release

    here = None if release is None else release.resolve()
    if here is not None:
        for place in {here, here.parent} if is_data_folder(here) else {here if here.is_dir() else here.parent}:
            refuse_beside_release(folder, place)
    if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise EngineError(f"cannot write to {str(folder)!r}")
    return folder


def _hash_of(release: str) -> str | None:
    """Return the SHA-256 of the released data, from the release's own descriptor; None for another table."""
    from anonkit.bundle.release_place import Place

    try:
        return Place.of(release).data_digest()
    except ParameterError:
        return None


def _text(release: str, audited: Audit, banner: str) -> str:
    from anonkit.auditing.attacks.success_rates import next_step

    head = click.style(f"Attacks on {one_line(release)}", bold=True)
    lines = [head, click.style(banner, fg="yellow"), ""]
    names = ("attack", "rate", "control", "risk", "95 % interval", "verdict", "identity", "renamed", "shuffled")
    rows = [names, *(row for attack in audited.attacks for row in _rows(attack.to_dict(), attack.name))]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    bound = [] if audited.epsilon is None else ["", *_epsilon(audited.epsilon)]
    beside = [line for attack in audited.attacks for line in _beside(attack)]
    known = f"The attacker knows {', '.join(map(one_line, audited.known))}."
    step = on_command_line(next_step(audited.attacks, audited.epsilon))
    return "\n".join([*lines, *bound, "", *beside, known, "", click.style(one_line(step), bold=True)])


def _epsilon(loss: LossBound) -> list[str]:
    """Return the lower bound beside the claim, and the columns whose own claims do not hold."""
    from anonkit.auditing.attacks.success_rates import REFUTED, WEAK

    document = loss.to_dict()
    claim = "no bound" if document["claimed"] == "inf" else f"{loss.claimed:.4g}"
    lines = [
        f"epsilon  claimed {claim}  at least {loss.lower_bound:.3g} (95 % confidence)  {loss.verdict}",
        f"         {loss.neighbours}; so many answers can show {loss.most_measurable:.3g} at most",
    ]
    if loss.verdict == WEAK:
        lines.append("         no row could be distinguished: that says nothing about the release")
    broken = [column for column in loss.columns if column["verdict"] == REFUTED]
    return lines + [
        f"         {one_line(column['name'])}: claimed {column['claimed']:.4g}, at least {column['lower_bound']:.3g}"
        for column in broken
    ]


def _rows(document: Mapping[str, Any], name: str) -> Iterator[tuple[str, ...]]:
    """Yield the line of an attack; of inference one for each secret."""
    if document.get("secrets"):
        for secret, block in document["secrets"].items():
            yield from _rows(block, f"inference of {one_line(secret)}")
        return
    low, high = document["ci"]
    made, controls = document["n_attacks"], document["controls"]
    rates = (document["attack_rate"], document["control_rate"]) if made else (None, None)
    yield (
        name.replace("_", " "),
        *map(_share, rates),
        f"{document['risk']:.3f}",
        f"{low:.3f} to {high:.3f}",
        document["verdict"],
        *(_share(controls[control] if made else None) for control in ("identity", "renamed", "shuffled")),
    )


def _beside(attack: Attack) -> Iterator[str]:
    """Yield the figures beside: full knowledge, and holders of single values; no value is named."""
    from anonkit.auditing.attacks.success_rates import RISK

    if "full_knowledge" in attack.details:
        yield f"Linkability where all released columns of a person are known: {attack.details['full_knowledge']:.3f}."
    for secret, block in attack.details.get("secrets", {}).items():
        if not block["n_attacks"] and block.get("note") != attack.note:
            yield f"Inference of {one_line(secret)}: {block['note']}"
        values = block["by_value"]
        at_risk = [entry for entry in values if RISK in (entry["verdict"], entry["verdict_without_control"])]
        if not at_risk:
            continue
        worst = max(at_risk, key=lambda entry: float(entry["risk"]))
        without = "" if worst["verdict"] == RISK else ", without the control rows"
        yield (
            f"Holders of a value of {one_line(secret)}: distinguished from others for {len(at_risk)} of {len(values)} "
            f"values; "
            f"most for one of {worst['base_rate']:.2%} of the rows, risk {worst['risk']:.3f}{without}; see --json."
        )


def _share(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.3f}"
