"""Errors: their kinds and codes as documented, and what they carry from one process to another."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit import errors
from anonkit.cli.boundary import InternalError, Interruption, SystemRefusal
from anonkit.cli.outcome import WrongUsage
from anonkit.errors import AnonkitError, MissingDependencyError, did_you_mean, refusing_damage

DOCUMENTED: dict[type[AnonkitError], tuple[int, str, type[Exception]]] = {
    # class: exit code of docs/reference/cli.md, word of --json, what a caller who does not know anonkit catches
    errors.PolicyError: (3, "POLICY", ValueError),
    errors.ChoiceError: (2, "CHOICE", ValueError),
    errors.ParameterError: (2, "PARAMETER", ValueError),
    errors.SourceError: (3, "SOURCE", ValueError),
    errors.GuaranteeError: (1, "PROMISE", RuntimeError),
    errors.BudgetError: (1, "BUDGET", RuntimeError),
    errors.DatasetError: (1, "DATASET", RuntimeError),
    errors.EngineError: (3, "ENGINE", RuntimeError),
    errors.LedgerError: (3, "LEDGER", RuntimeError),
    errors.ReleaseFormatError: (3, "FORMAT", ValueError),
    errors.UncheckedError: (3, "UNCHECKED", RuntimeError),
    errors.MissingDependencyError: (4, "MISSING_EXTRA", ImportError),
    errors.InternalError: (3, "INTERNAL", Exception),
}
MAY_PASS_LATER = {errors.SourceError, errors.EngineError, errors.LedgerError, errors.ReleaseFormatError}
"""Errors of the surroundings; all others come again, or are an answer that a second attempt must not change."""
LINES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=40)
TWELVE = [f"column{number}" for number in range(12)]
kinds = pytest.mark.parametrize("kind", DOCUMENTED, ids=lambda kind: kind.__name__)


def test_every_error_of_the_module_is_documented_here() -> None:
    """A new kind of error gets an exit code, a word and a Python kind in the table above."""
    there = {one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, AnonkitError)}
    assert there - {AnonkitError} == set(DOCUMENTED)


@kinds
def test_exit_code_word_and_python_kind_are_the_documented_ones(kind: type[AnonkitError]) -> None:
    """Scripts branch on these: a changed code is a changed contract."""
    code, word, python = DOCUMENTED[kind]
    assert (kind.exit_code, kind.code) == (code, word)
    assert issubclass(kind, python)


@kinds
def test_only_a_failure_of_the_surroundings_may_be_retried(kind: type[AnonkitError]) -> None:
    """A scheduler that retries a refusal asks the same question again; one that gives up on a lost disk loses a day."""
    assert kind.may_be_retried is (kind in MAY_PASS_LATER)


def test_every_word_represents_one_kind() -> None:
    """A word of --json names the kind of error."""
    assert len({word for _, word, _ in DOCUMENTED.values()}) == len(DOCUMENTED)


OF_THE_BOUNDARY = (WrongUsage, SystemRefusal, Interruption, InternalError)
"""Errors of the command line alone."""


@pytest.mark.parametrize("kind", [*DOCUMENTED, *OF_THE_BOUNDARY], ids=lambda kind: kind.__name__)
def test_the_page_says_of_every_error_whether_to_try_again(kind: type[AnonkitError], repository: Path) -> None:
    """One table for all schedulers: word, exit code and "yes" or "no" as the class has them."""
    page = (repository / "docs" / "how-to" / "run-in-a-pipeline.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{kind.code}` \| (.*) \| (\d+) \| (yes|no) \|", page, re.MULTILINE)
    assert row[1:] == (str(kind.exit_code), "yes" if kind.may_be_retried else "no")
    assert kind in OF_THE_BOUNDARY or row[0] == f"`{kind.__name__}`"


@kinds
@given(message=LINES, hint=st.none() | LINES)
def test_an_error_is_the_same_after_it_came_from_another_process(
    kind: type[AnonkitError], message: str, hint: str | None
) -> None:
    """Workers hand errors over as bytes: kind, message and hint survive, and the text is two lines at most."""
    error = kind(message, hint)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is kind
        assert (other.message, other.hint, str(other)) == (message, hint, str(error))
    assert str(error) == (message if hint is None else f"{message}\nHint: {hint}")


@kinds
def test_a_secret_of_an_address_is_in_nothing_an_error_shows(kind: type[AnonkitError]) -> None:
    """Neither in the text, nor in what a debugger or a log prints of it, nor in the bytes for another process."""
    address = "postgresql://owner:q7secret9@host.example/db"
    error = kind(f"cannot read {address}", f"is {address} right?")
    for shown in (str(error), repr(error), error.message, error.hint, repr(error.args), repr(vars(error))):
        assert "q7secret9" not in str(shown)
    assert b"q7secret9" not in pickle.dumps(error)
    assert "host.example" in str(error)


def test_an_absent_part_names_an_extra_that_the_package_declares(repository: Path) -> None:
    """Every extra that an error names can be installed."""
    declared = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = set()
    for path in Path(anonkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "of_extra":
                extra = node.args[1]
                assert isinstance(extra, ast.Constant)
                named.add(extra.value)
                assert f"'anonkit[{extra.value}]'" in str(MissingDependencyError.of_extra("It", str(extra.value)))
    assert len(named) >= 2
    assert named <= set(declared["optional-dependencies"])


@given(names=st.lists(st.text("abcdefgh_", min_size=1, max_size=12), unique=True, min_size=1, max_size=30))
def test_a_known_name_is_its_own_best_suggestion(names: list[str]) -> None:
    """The closest name to one that is there is itself."""
    for name in names[:3]:
        assert did_you_mean(name, names) == f"did you mean {name!r}?"


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("incme", ["age", "income", "zip"], "did you mean 'income'?"),
        ("epsilom", ["epsilon", "delta"], "did you mean 'epsilon'?"),
        ("q", ["age", "zip"], "known: age, zip"),
        ("q", [f"column{number}" for number in range(12)], "known: " + ", ".join(f"column{n}" for n in range(12))),
        (
            "q",
            [f"column{number}" for number in range(13)],
            "known: " + ", ".join(f"column{n}" for n in range(12)) + ", …",
        ),
        ("q", [], "known: "),
    ],
)
def test_a_name_far_from_all_brings_the_known_ones(name: str, known: list[str], said: str) -> None:
    """Close names are suggested, else at most twelve are listed and more are hinted at."""
    assert did_you_mean(name, known) == said


@pytest.mark.parametrize(
    "read",
    [
        lambda raw: raw["missing"],
        lambda raw: int(raw["word"]),
        lambda raw: raw["word"]["key"],
        lambda raw: raw["list"][3],
        lambda raw: raw["list"].items(),
        lambda raw: int(raw["endless"]),
    ],
)
def test_damage_is_refused_in_one_sentence_without_text_of_the_file(read: Callable[[Any], object]) -> None:
    """Every error of Python on a missing key or a wrong type becomes one sentence without a word of the file."""
    with pytest.raises(errors.ReleaseFormatError) as refused, refusing_damage("the block is damaged"):
        read({"word": "secret", "list": [1], "endless": float("inf")})
    assert str(refused.value) == "the block is damaged"
    assert refused.value.__suppress_context__


def test_parameters_out_of_range_are_damage_only_where_they_contradict_a_file() -> None:
    """An error of our own keeps its words; where a file is said to contradict itself, its message is part of that."""
    with pytest.raises(errors.ParameterError, match="too large"), refusing_damage("damaged"):
        raise errors.ParameterError("too large")
    with pytest.raises(errors.ReleaseFormatError, match="the params contradict themselves: too large"):  # noqa: SIM117
        with refusing_damage("damaged", contradictions=True):
            raise errors.ParameterError("too large")
    with pytest.raises(errors.SourceError, match="gone"), refusing_damage("damaged", contradictions=True):
        raise errors.SourceError("gone")
