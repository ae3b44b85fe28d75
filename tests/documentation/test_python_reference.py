# SPDX-License-Identifier: Apache-2.0
"""docs/reference/python.md is written from the docstrings and has every public name, parameter and member."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from keywords_of_calls import keywords_of

from anonkit.pipeline.request_form import MethodParameters

FOLDER = Path(__file__).parent
UPDATE = "out of date: python tests/documentation/python_reference.py"
INSTALLED = (
    "anonkit",
    "anonkit.consumers",
    "anonkit.datasets",
    "anonkit.engines",
    "anonkit.errors",
    "anonkit.ledger",
    "anonkit.protocols",
    "anonkit.report.schemas",
)
"""Public modules that can be imported here."""
OTHERS = re.compile("[Oo]ther parameters|[Pp]arameters are those of")
"""The phrase of a call that takes parameters of another."""
TOOLS = ("airflow", "dagster", "dbt", "prefect")
WORDING = {"spoken", "option", "in_python", "on_command_line", "did_you_mean"}
"""Functions that write messages of errors, for anonkit's own code."""


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The script that writes the page."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("python_reference")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def sections(repository: Path) -> dict[str, str]:
    """Heading of the page -> text below it, deeper headings included."""
    page = (repository / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    parts = re.split(r"^(### .+)\n", page, flags=re.MULTILINE)
    return {
        head[4:].removeprefix("class "): re.split(r"^## ", text, flags=re.MULTILINE)[0]
        for head, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def public(module: str) -> Iterator[tuple[str, Any]]:
    """Yield the public names of an imported module with what they are."""
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module
    ]
    for name in names:
        value = getattr(loaded, name)
        if not name.startswith("__") and not inspect.ismodule(value) and name not in WORDING:
            yield name, value


def described(sections: dict[str, str], name: str) -> str:
    """Return what the page says of a name, where another name of the same thing is described too."""
    text = sections[name]
    same = re.match(r"\s*It is \[([\w.]+)\]", text)
    return sections[same[1]] if same else text


def test_the_page_is_what_the_docstrings_say(reference: ModuleType) -> None:
    """Nobody edits the generated part by hand, and no docstring changes without it."""
    page = reference.PAGE.read_text(encoding="utf-8")
    assert page == reference.rewritten(page), UPDATE


@pytest.mark.parametrize("module", INSTALLED)
def test_every_public_name_is_in_the_page_with_its_parameters_and_members(
    module: str, sections: dict[str, str]
) -> None:
    """As Python sees them when the module is imported, not as the script reads them; methods' are on their pages."""
    missing = []
    methods_own = set(MethodParameters.__annotations__)
    for name, value in public(module):
        text = described(sections, f"{module}.{name}")
        if inspect.isclass(value):
            members = [one for one, what in vars(value).items() if not one.startswith("_") and _is_member(what)]
            missing += [f"{name}.{one}" for one in members if f"`{one}`" not in text and f".{one}\n" not in text]
            missing += [
                f"{name}.{one}" for one in getattr(value, "__annotations__", ()) if one[0] != "_" and one not in text
            ]
        elif inspect.isfunction(value):
            named = [] if OTHERS.search(text) else [one for one in keywords_of(value) if one not in methods_own]
            missing += [f"{name}({one})" for one in named if one not in text]
    assert missing == [], UPDATE


def _is_member(value: object) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_step_for_a_pipeline_is_in_the_page(tool: str, repository: Path, sections: dict[str, str]) -> None:
    """Tools that are not installed here are read from their modules."""
    text = (repository / "anonkit" / "integrations" / f"{tool}.py").read_text(encoding="utf-8")
    names = re.findall(r"^(?:def|class) ([A-Za-z]\w*)", text, flags=re.MULTILINE)
    assert names
    assert [name for name in names if f"anonkit.integrations.{tool}.{name}" not in sections] == [], UPDATE


def test_every_public_name_says_what_it_is(sections: dict[str, str]) -> None:
    """No entry is a signature alone."""
    silent, signs = [], ("    ", "Made of its fields", "Subclass of", "#", "def ", "class ", ")", "```")
    for name, text in sections.items():
        words = [line for line in text.splitlines() if line and not line.startswith(signs)]
        if not words:
            silent.append(name)
    assert silent == []


@pytest.mark.parametrize("module", ["anonkit", "anonkit.consumers"])
def test_every_parameter_of_a_public_function_is_described(module: str, sections: dict[str, str]) -> None:
    """A bullet each, except where a function takes those of another and says so; methods' are on pages of their own."""
    bare = []
    methods_own = set(MethodParameters.__annotations__)
    for name, value in public(module):
        if inspect.isfunction(value):
            text = described(sections, f"{module}.{name}")
            heads = re.findall(r"^- (.*?)(?:: | \(|$)", text, re.MULTILINE) + re.findall(
                r"^- `\*\*.*", text, re.MULTILINE
            )
            bullets = set(re.findall(r"`\**(\w+)`", " ".join(heads)))
            others = OTHERS.search(text)
            bare += [f"{name}({one})" for one in keywords_of(value) if one not in bullets | methods_own and not others]
    assert bare == []


def test_what_pages_and_examples_import_is_in_the_reference(repository: Path, sections: dict[str, str]) -> None:
    """A reader who meets a name in README, docs or examples finds it described."""
    sources = [repository / "README.md", *(repository / "docs").rglob("*.md"), *(repository / "examples").rglob("*.py")]
    unknown = set()
    # authors of methods build on the packages of their family, which are not for users
    of_methods = ("write-a-method.md", "add-a-noise-method.md")
    for path in (one for one in sources if one.name not in of_methods and "strangers" not in one.parts):
        for line in re.findall(
            r"^\s*from anonkit[\w.]* import \(?[^)\n]+", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            (node,) = ast.parse(line.strip().replace("(", "").rstrip(",")).body
            assert isinstance(node, ast.ImportFrom)
            unknown |= {
                f"{node.module}.{alias.name} ({path.relative_to(repository)})"
                for alias in node.names
                if f"{node.module}.{alias.name}" not in sections
                and f"{node.module}.{alias.name}" not in {name.rpartition(".")[0] for name in sections}
            }
    assert unknown == set()


def test_every_name_of_the_page_has_an_anchor_of_its_own(reference: ModuleType) -> None:
    """`Release` and `release` are distinguished in a link."""
    heads = re.findall(r"^### (.+)$", reference.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    anchors = [reference.anchor(head) for head in heads]
    assert len(set(anchors)) == len(anchors)
