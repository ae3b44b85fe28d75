# SPDX-License-Identifier: Apache-2.0
"""The eight questions of `anonkit init --ask`: each is explained, has a default, and can be answered by an option."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

import click

from anonkit.cli.boundary import one_line
from anonkit.cli.outcome import WrongUsage
from anonkit.errors import AnonkitError

if TYPE_CHECKING:
    from anonkit.drafting.owner_answers import GuessedRoles, OwnerAnswers

T = TypeVar("T")
_WHO = {
    "anyone": "anyone may download it: differential privacy is recommended",
    "named": "colleagues or a named institute: k-anonymity, k = 10",
    "secure": "a secure facility where every output is checked: k-anonymity, k = 5",
}


_PROMISE = {"anyone": ["--epsilon", "1"], "named": ["--k", "10"], "secure": ["--k", "5"]}


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
