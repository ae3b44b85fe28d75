# SPDX-License-Identifier: Apache-2.0
"""`anonkit init`: a policy drafted from a table, for the owner to read and correct."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line
from anonkit.cli.files import refuse_existing, write_text
from anonkit.cli.init_questions import GivenAnswers, recommended_options
from anonkit.cli.options import encoding_option, force_option, json_option, quiet_option, reading_options
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.cli.progress import progress_line
from anonkit.cli.short_help import ShortHelp
from anonkit.cli.typed_commands import release_command, typed

if TYPE_CHECKING:
    from anonkit.drafting.owner_answers import GuessedRoles, OwnerAnswers

STDOUT = "-"
_NAMED = 5
"""Columns that a sentence names."""


@click.command(cls=ShortHelp, name="init")
@click.argument("source", metavar="IN")
@click.option(
    "--target", metavar="COLUMN", help="Column to predict; default: the last one, if it evidently is a label."
)
@click.option("--ask", is_flag=True, help="Ask eight questions, and recommend a release; options answer them too.")
@click.option("--yes", is_flag=True, help="With --ask: take the default of every question that no option answers.")
@click.option("--recipient", metavar="WHO", help="Who receives the table: anyone, named (the default) or secure.")
@click.option("--unit", metavar="A,B", help="Column of the person of a row; none: nobody has several rows.")
@click.option("--identifier", metavar="A,B", help="Columns that name a person: never released.")
@click.option("--sensitive", metavar="A,B", help="Columns that nobody may learn about a person.")
@click.option("--keep", metavar="A,B", help="Columns that must stay in the table.")
@click.option(
    "--sample", metavar="SHARE", help="Share of the population that is in the table, such as 0.05; all: no sample."
)
@click.option("--dataset", metavar="NAME", help="Name under which all releases of these people add up.")
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
    ask: bool,
    yes: bool,
    encoding: str | None,
    how: Mapping[str, Any],
    output: str,
    force: bool,
    quiet: bool,
    **given: str | None,
) -> Outcome:
    """Draft a policy.toml to read and correct.

    \b
    anonkit init in.csv
    anonkit init in.csv --target income -o policies/adult.toml
    anonkit init in.csv -o -
    anonkit init in.csv --ask
    anonkit init in.csv --ask --recipient anyone --unit none --sensitive illness --target outcome --yes

    Roles are guessed; the possible values of columns are left for you to declare. The draft holds no rare values and no
    minimum or maximum, but it still describes the table: keep it to yourself until every line is confirmed.
    """
    answered = _questions(ask=ask, yes=yes, target=target, given=given)
    path = Path(output)
    if output != STDOUT:
        refuse_existing(path, force, made_from=source)
    import anonkit
    from anonkit.bundle.private_files import sweep
    from anonkit.drafting.policy_draft import DRAFT_STEPS

    sweep()
    answers: list[OwnerAnswers] = []

    def keeping(guessed: GuessedRoles) -> OwnerAnswers:
        answers.append(answered.ask(guessed))
        return answers[0]

    with progress_line(quiet or (ask and not yes), steps=DRAFT_STEPS) as progress:
        draft = anonkit.draft_policy(
            source,
            target=None if ask else target,
            encoding=encoding,
            ask=keeping if ask else None,
            progress=progress,
            **how,
        )
    if output == STDOUT:
        return Outcome(text=draft.rstrip("\n"), document={"file": None, "policy": draft})
    write_text(path, draft, force=force, private=True)  # it may disclose rows until its owner has read it
    document: dict[str, Any] = {"file": str(path), "policy": draft}
    options: list[str] = []
    to_declare = ""
    if answers:
        options = recommended_options(answers[0])
        document["command"] = ["anonkit", "release", *options, "--policy", str(path), source, "OUT.parquet"]
        if answers[0].needs_domains:
            document["without_domain"] = _without_domain(path)
            to_declare = _to_declare(document["without_domain"])
    risk = _risk_of_sample(answers, source)
    text = f"Wrote {path}\n{risk}{to_declare}{release_command(path, source, how, options)}"
    return Outcome(text=text, document=document, quiet=quiet)


def _questions(*, ask: bool, yes: bool, target: str | None, given: Mapping[str, str | None]) -> GivenAnswers:
    """Return the answers on the command line.

    Raises
    ------
    WrongUsage
        They are given without --ask, or an answer is missing and no terminal is there.
    """
    named = [name for name, value in given.items() if value is not None]
    if not ask and (yes or named):
        raise WrongUsage(f"--{named[0] if named else 'yes'} answers a question of --ask", "add --ask")
    answered = GivenAnswers(**given, target=target, yes=yes)
    if ask and not (yes or sys.stdin.isatty() or answered.is_complete):
        raise WrongUsage("--ask asks at a terminal", "answer by options, and --yes takes the default of the others")
    return answered


def _without_domain(path: Path) -> list[str]:
    """Return the columns of a written policy that noise cannot release yet."""
    from anonkit.policy.declaration import Policy
    from anonkit.policy.public_domains import without_domain

    return without_domain(Policy.load(path))


def _to_declare(names: Sequence[str]) -> str:
    """Return the declarations that the recommended command needs before it releases anything; empty for none."""
    if not names:
        return ""
    named = ", ".join(one_line(name) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    columns = f"{len(names)} columns" if len(names) > 1 else "one column"
    return (
        f"Noise needs the possible values of {columns}: {named}{more}.\n"
        "Fill in the lines that begin with # bounds and # categories, from public knowledge; until then the command "
        "below refuses.\n"
    )


def _risk_of_sample(answers: Sequence[OwnerAnswers], source: str) -> str:
    if not answers or answers[0].sample is None:
        return ""
    return (
        f"Risk against the population:  {typed('anonkit', 'risk', source, '--sampling-fraction', answers[0].sample)}\n"
    )
