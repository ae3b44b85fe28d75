"""Remedies in errors: options named as keywords to callers from Python, with dashes on the command line."""

from __future__ import annotations

import ast
import copy
import functools
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keywords_of_calls import keywords_of

import anonkit
from anonkit.cli import COMMANDS
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.consumers import MixtureQuestions
from anonkit.engines import Local, Spark
from anonkit.errors import AnonkitError, GuaranteeError, in_python, on_command_line, option, spoken
from anonkit.methods import METHODS, method_class
from anonkit.parameters import parameters_of

PACKAGE = Path(anonkit.__file__).parent
DASHED = re.compile(r"(?:^|[^\w<!-])--[a-z]")
WHOLE_COMMANDS = {"report/markdown.py": "anonkit report --diff"}
"""Texts that name a command of the shell with its option: the page of a report says what its reader may type."""
OTHER_COMMANDS = ("integrations/github_action.py", "datasets/__main__.py", "desk/decided_release.py")
"""The modules out of `cli` that are commands themselves, or write whole ones: the options are their own."""
STYLES = ("comparing/frontier.py",)
"""The module with a style sheet, whose variables begin with dashes."""


def _texts(nodes: list[ast.AST]) -> list[str]:
    """Return the strings of a module but its docstrings, and but what is said on the command line alone."""
    left_out: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(id(node.value))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "spoken":
            left_out |= {id(inner) for word in node.keywords if word.arg == "typed" for inner in ast.walk(word.value)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in left_out]
    return [node.value for node in constants if isinstance(node.value, str)]


def _named_options(nodes: list[ast.AST]) -> list[tuple[str, str]]:
    """Return the options that a module names, as a keyword and as it is typed."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "option"]
    found = []
    for call in calls:
        first = call.args[0]
        if isinstance(first, ast.Constant):
            typed = next((ast.literal_eval(word.value) for word in call.keywords if word.arg == "typed"), None)
            found.append((str(first.value), typed or str(first.value).replace("_", "-")))
    return found


@functools.cache
def _library() -> tuple[list[tuple[str, str]], list[tuple[str, str, str]]]:
    """Return the strings of the library and the options that it names, each with its module: read once."""
    texts, options = [], []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("cli/") and name not in OTHER_COMMANDS:
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            texts += [(name, text) for text in _texts(nodes)]
            options += [(name, *one) for one in _named_options(nodes)]
    return texts, options


def test_no_text_of_the_library_has_an_option_of_the_command_line() -> None:
    """An option is in a message, hint or note by `option` alone, which has a word for either reader."""
    found = [
        f"{name}: {text}"
        for name, text in _library()[0]
        if DASHED.search(text.replace(WHOLE_COMMANDS.get(name, "\0"), ""))
        and not (name in STYLES and "{" in text)
        and name != "errors.py"
    ]
    assert not found, "\n".join(found)


def test_every_option_that_is_named_exists_for_both_readers() -> None:
    """A keyword of a public call or parameter of a method, and an option of a command or method."""
    calls = (anonkit.release, anonkit.apply, anonkit.validate, anonkit.audit, anonkit.compare, anonkit.reconstruct)
    keywords = {
        name for call in (*calls, MixtureQuestions, anonkit.Release.save, Local, Spark) for name in keywords_of(call)
    }
    typed = {word for name in COMMANDS for one in commands.get_command(None, name).params for word in one.opts}  # type: ignore[arg-type, union-attr]
    for name in METHODS:
        keywords |= {one.name for one in parameters_of(method_class(name))}
        typed |= {one.option for one in parameters_of(method_class(name))}
    named = _library()[1]
    assert len(named) >= 30
    assert not [one for one in named if one[1] not in keywords]
    assert not [one for one in named if f"--{one[2]}" not in typed]


@pytest.mark.parametrize(
    ("text", "python", "typed"),
    [
        (option("force", True), "force=True", "--force"),
        (option("max_suppression"), "max_suppression", "--max-suppression"),
        (option("as_"), "as_", "--as"),
        (option("budget", 2.5), "budget=2.5", "--budget 2.5"),
        (option("budget", 10.0), "budget=10", "--budget 10"),
        (option("budget", float("inf")), 'budget=float("inf")', "--budget inf"),
        (option("method", "ppnb"), 'method="ppnb"', "--method ppnb"),
        (option("dataset", "two words"), 'dataset="two words"', "--dataset 'two words'"),
        (option("sensitive", ["NAME"]), 'sensitive=["NAME"]', "--sensitive NAME"),
        (
            option("identifiers", ["a", "b c"], typed="identifier"),
            'identifiers=["a", "b c"]',
            "--identifier a --identifier 'b c'",
        ),
        (spoken(python="ledger=None", typed="--no-ledger"), "ledger=None", "--no-ledger"),
        (spoken(python="", typed="--encoding cp1252, or "), "", "--encoding cp1252, or "),
    ],
)
def test_an_option_reads_as_its_reader_writes_it(text: str, python: str, typed: str) -> None:
    """As code in Python, as words of a shell on the command line, also in the middle of a sentence."""
    assert in_python(text) == python
    assert on_command_line(text) == typed
    assert in_python(f"raise {text} or {text}.") == f"raise {python} or {python}."


@given(
    words=st.text(st.characters(exclude_categories=["Cs", "Co"]), max_size=30), name=st.sampled_from(["k", "budget"])
)
def test_an_error_keeps_both_wordings_wherever_it_goes(words: str, name: str) -> None:
    """Copied, from another process, or repeated by another error; no mark is left in what anybody reads."""
    error = GuaranteeError("no", f"{words}{option(name, 3)}")
    other = AnonkitError(*error.told)
    for copied in (error, other, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert copied.hint is not None
        assert copied.hint.endswith(f"{name}=3")
        assert str(copied.for_command_line()[1]).endswith(f"--{name} 3")
        for shown in (str(copied), repr(copied), *copied.for_command_line()):
            assert not re.search("[\ufdd0-\ufdd2]", str(shown))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small table on disk, with a release beside it."""
    path = tmp_path / "in.csv"
    columns = {
        "age": [20 + n % 9 for n in range(60)],
        "zip": [n % 4 for n in range(60)],
        "c": ["ab"[n % 2] for n in range(60)],
    }
    pyarrow.csv.write_csv(pa.table(columns), path)
    anonkit.release(path, method="mondrian", k=3, target="c", output=tmp_path / "out.parquet", ledger=None)
    return path


REFUSED: dict[str, tuple[Callable[[Path], Any], list[str], str, str]] = {
    "an output that exists": (
        lambda path: anonkit.release(
            path, method="mondrian", k=3, target="c", output=path.with_name("out.parquet"), ledger=None
        ),
        ["release", "--method", "mondrian", "--k", "3", "--target", "c", "--no-ledger", "in.csv", "out.parquet"],
        "force=True replaces",
        "--force replaces",
    ),
    "a plain table without quasi-identifiers": (
        lambda path: anonkit.validate(path, k=3),
        ["validate", "in.csv", "--k", "3"],
        'quasi_identifiers=["age", "zip", "sex"]: a plain',
        "--qi age,zip,sex: a plain",
    ),
    "a strength that nobody gave": (
        lambda path: anonkit.release(path, method="errph", target="c"),
        ["release", "--method", "errph", "--target", "c", "--no-ledger", "in.csv", "other.parquet"],
        "p_keep=0.5",
        "--p-keep 0.5",
    ),
    "domains that no method needs": (
        lambda path: anonkit.release(path, method="mondrian", k=3, target="c", domains_from_data=True),
        ["release", "--method", "mondrian", "--k", "3", "--target", "c", "--domains-from-data", "in.csv", "o.parquet"],
        "leave domains_from_data out",
        "leave --domains-from-data out",
    ),
    "diversity of nothing": (
        lambda path: anonkit.release(path, method="mondrian", k=3, l=2, target="c"),
        [
            "release",
            "--method",
            "mondrian",
            "--k",
            "3",
            "--l",
            "2",
            "--target",
            "c",
            "--no-ledger",
            "in.csv",
            "o.parquet",
        ],
        'sensitive=["NAME"]',
        "--sensitive NAME",
    ),
}


@pytest.mark.parametrize("refused", REFUSED)
def test_the_same_error_speaks_to_each_caller_in_his_language(
    refused: str, table: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One refusal, called from Python and typed: keywords in the one, dashes in the other, and never both."""
    call, typed, in_code, in_shell = REFUSED[refused]
    with pytest.raises(AnonkitError) as told:
        call(table)
    assert in_code in str(told.value)
    assert "--" not in str(told.value)
    monkeypatch.chdir(table.parent)
    capfd.readouterr()
    assert run(commands, typed, "anonkit") == told.value.exit_code
    shown = capfd.readouterr().err
    assert in_shell in shown
    assert in_code not in shown


def test_names_of_private_use_characters_are_shown_as_they_are() -> None:
    """Fonts of companies and of scripts have them; no mark of the two wordings is one."""
    names = ["age\ue000x\ue001y\ue002", "city"]
    hint = f"known: {', '.join(names)}; {option('force', True)}"
    assert in_python(hint) == f"known: {', '.join(names)}; force=True"
    assert on_command_line(hint) == f"known: {', '.join(names)}; --force"
