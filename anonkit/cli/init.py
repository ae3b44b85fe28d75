# SPDX-License-Identifier: Apache-2.0
"""`anonkit init`: a policy drafted from a table, for the owner to read and correct."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from anonkit.cli.boundary import one_line, progress_line
from anonkit.cli.commands import ShortHelp
from anonkit.cli.files import refuse_existing, write_text
from anonkit.cli.options import encoding_option, force_option, json_option, quiet_option, reading_options
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.cli.typed_commands import release_command, typed
from anonkit.errors import AnonkitError

if TYPE_CHECKING:
    from anonkit.drafting.owner_answers import GuessedRoles, OwnerAnswers

T = TypeVar("T")

STDOUT = "-"
_NAMED = 5
"""Columns that a sentence names."""
_WHO = {
    "anyone": "anyone may download it: differential privacy is recommended",
    "named": "colleagues or a named institute: k-anonymity, k = 10",
    "secure": "a secure facility where every output is checked: k-anonymity, k = 5",
}
_PROMISE = {"anyone": ["--epsilon", "1"], "named": ["--k", "10"], "secure": ["--k", "5"]}


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


# --- the questions of --ask ------------------------------------------------------------------------------------------


def recommended_options(answers: OwnerAnswers) -> list[str]:
    """Return the options of the release that is recommended."""
    promise = _PROMISE[answers.recipient]
    return promise if answers.target is not None else [*promise, "--no-target"]


@dataclass(frozen=True, kw_only=True)
class GivenAnswers:
    """Answers that were given as options; None: not given."""

    recipient: str | None = None
    unit: str | None = None
    identifier: str | None = None
    sensitive: str | None = None
    target: str | None = None
    keep: str | None = None
    sample: str | None = None
    dataset: str | None = None
    yes: bool = False
    """Take the default of whatever was not given."""

    @property
    def is_complete(self) -> bool:
        """True when every question has an answer."""
        return all(getattr(self, question.name) is not None for question in fields(self))

    def ask(self, guessed: GuessedRoles) -> OwnerAnswers:
        """Ask what was not given, on stderr, and return all answers.

        Raises
        ------
        PolicyError, ChoiceError, WrongUsage
            An answer that was given as an option is of no column, or is no answer.
        """
        from anonkit.drafting.owner_answers import RECIPIENTS, OwnerAnswers
        from anonkit.policy.column_declarations import Role

        columns = _columns_of(guessed)
        recipient = self._answer(
            "1. Who receives the table?",
            [f"{name}: {meaning}" for name, meaning in _WHO.items()],
            self.recipient,
            "named",
            _one_of(RECIPIENTS),
        )
        unit = self._answer(
            "2. Whose is a row? Name the column of the person, or none where no person has several rows.",
            [f"may be the person: {_listed(guessed.persons)}"] if guessed.persons else [],
            self.unit,
            _listed(guessed.of(Role.UNIT)),
            columns,
        )
        identifiers = self._answer(
            "3. Which columns name a person (names, numbers, addresses)? They are never released.",
            [],
            self.identifier,
            _listed(guessed.of(Role.IDENTIFIER), without=unit),
            columns,
        )
        sensitive = self._answer(
            "4. Which columns are secret: nobody may learn them about a person?",
            [],
            self.sensitive,
            _listed(guessed.secrets, without=(*unit, *identifiers)),
            columns,
        )
        target = self._answer(
            "5. Which column will the users of the table predict? none: the table is of general use.",
            ["under k-anonymity the column is released unchanged"],
            self.target,
            _listed(guessed.of(Role.TARGET), without=(*unit, *identifiers)),
            _first(columns),
        )
        keep = self._answer(
            "6. Which columns must stay in the table?",
            ["k-anonymity may leave others out; noise leaves none out"],
            self.keep,
            "none",
            columns,
        )
        sample = self._answer(
            "7. Is the table a sample? The share of the population that is in it, such as 0.05, or all.",
            ["who is in a small sample is harder to find in the population: anonkit risk estimates how much"],
            self.sample,
            "all",
            _share,
        )
        dataset = self._answer(
            "8. Under which name do all releases of these people add up? none: the name of the file.",
            [],
            self.dataset,
            "none",
            lambda text: None if text == "none" else text,
        )
        answers = OwnerAnswers(
            recipient=recipient,
            unit=unit,
            identifiers=identifiers,
            sensitive=sensitive,
            target=target,
            keep=keep,
            sample=sample,
            dataset=dataset,
        )
        answers.roles(guessed.roles)
        return answers

    def _answer(
        self, question: str, more: Sequence[str], given: str | None, default: str, read: Callable[[str], T]
    ) -> T:
        if given is not None or self.yes:
            return read(default if given is None else given)
        click.echo("\n".join([question, *(f"   {one_line(line)}" for line in more)]), err=True)
        while True:
            text = click.prompt("  ", default=default, err=True, prompt_suffix="")
            try:
                return read(str(text).strip())
            except AnonkitError as error:
                click.echo(f"   {one_line(str(error))}", err=True)


def _one_of(names: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise WrongUsage(f"{text!r} is none of {', '.join(names)}")
        return text

    return read


def _columns_of(guessed: GuessedRoles) -> Callable[[str], Sequence[str]]:
    def read(text: str) -> Sequence[str]:
        from anonkit.drafting.owner_answers import NOBODY, refuse_unknown

        if text in ("", NOBODY) and text not in guessed.roles:
            return ()
        names = next(csv.reader([text], skipinitialspace=True), [])
        for name in names:
            refuse_unknown(name, guessed.roles)
        return tuple(dict.fromkeys(names))

    return read


def _first(columns: Callable[[str], Sequence[str]]) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        names = columns(text)
        if len(names) > 1:
            raise WrongUsage("one column is predicted, not several")
        return names[0] if names else None

    return read


def _share(text: str) -> float | None:
    if text == "all":
        return None
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise WrongUsage(f"{text!r} is no share between 0 and 1", "such as 0.05, or all")
    return share


def _listed(names: Sequence[str], without: Sequence[str] = ()) -> str:
    """Return names as an answer: quoted as in CSV where they hold a comma."""
    names = [name for name in names if name not in without]
    quoted = ['"{}"'.format(name.replace('"', '""')) if {",", '"'} & set(name) else name for name in names]
    return ",".join(quoted) or "none"
