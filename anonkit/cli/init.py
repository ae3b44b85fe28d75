# SPDX-License-Identifier: Apache-2.0
"""`anonkit init`: a policy drafted from a table, for the owner to read and correct."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from anonkit.cli.files import refuse_existing, write_text
from anonkit.cli.options import encoding_option, force_option, json_option, quiet_option, reading_options
from anonkit.cli.outcome import Outcome
from anonkit.cli.progress import progress_line
from anonkit.cli.typed_commands import release_command

STDOUT = "-"


@click.command(name="init")
@click.argument("source", metavar="IN")
@click.option("--target", metavar="COLUMN", help="The class label; default: the last column, if it evidently is one.")
@encoding_option
@reading_options
@click.option(
    "-o", "--output", metavar="FILE", default="policy.toml", show_default=True, help="Where to write; - shows it."
)
@force_option
@quiet_option
@json_option
def command(
    source: str,
    *,
    target: str | None,
    encoding: str | None,
    how: Mapping[str, Any],
    output: str,
    force: bool,
    quiet: bool,
) -> Outcome:
    """Draft a policy.toml to read and correct.

    \b
    anonkit init in.csv
    anonkit init in.csv --target income -o policies/adult.toml
    anonkit init in.csv -o -

    Roles are guessed, domains left for you to declare. The draft holds no rare values and no minimum or maximum, but
    it still describes the table: keep it to yourself until every line is confirmed.
    """
    path = Path(output)
    if output != STDOUT:
        refuse_existing(path, force, made_from=source)
    import anonkit
    from anonkit.bundle.private_files import sweep

    sweep()
    with progress_line(quiet) as progress:
        draft = anonkit.draft_policy(source, target=target, encoding=encoding, progress=progress, **how)
    if output == STDOUT:
        return Outcome(text=draft.rstrip("\n"), document={"file": None, "policy": draft})
    write_text(path, draft, force=force, private=True)  # it tells of the rows until its owner has read it
    text = f"Wrote {path}\n{release_command(path, source, how)}"
    return Outcome(text=text, document={"file": str(path), "policy": draft}, quiet=quiet)
