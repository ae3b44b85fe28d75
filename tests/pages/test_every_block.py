"""No block of any page is untested: each is typed, compared, or covered by a test that reads it from the page."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import tomllib
from pathlib import Path

import click
import pytest
import yaml
from markdown_it import MarkdownIt
from pages.blocks import REPOSITORY, Block, blocks_in, blocks_of, pages, text_of
from pages.commands import command_lines, read_by_the_program, simple_commands
from pages.following import make_inputs
from pages.installer import refused
from pages.page import Page, is_key_of, reads_the_page, registered, settings, used_later
from pages.printed import agrees, of_a_console
from pages.readers import declared_extras

import anonkit
from anonkit.cli.precommit import declaration_problem
from anonkit.errors import AnonkitError

PAGES = [page for page in pages() if blocks_of(page)]
OPENS = re.compile(r"^\s*(?:!!!|\?\?\?\+?|===)\s")
"""The beginning of an admonition or a tab, whose text is indented as code would be."""
RUNNABLE = ("sh", "bash", "shell", "console", "python", "py", "toml", "yaml", "yml", "sql")
every_page = pytest.mark.parametrize("page", PAGES)


@every_page
def test_every_block_is_typed_or_covered(page: str) -> None:
    """A block that no test runs is named with the remedy."""
    unknown = [block.where for block, kind in settings(page).kinds(page) if kind == "unknown"]
    assert not unknown, (
        "neither typed nor covered: give it a language (sh, python; text after them is what is printed), a file name "
        '(title="policy.toml", or `# policy.toml` in its first line), or a line in tests/pages/registry'
    )


@every_page
def test_every_file_of_a_page_is_used(page: str) -> None:
    """A policy that is shown is loaded by a command, of the page or of the registry."""
    read = settings(page)
    files = [(block, str(read.file_of(block))) for block, kind in read.kinds(page) if kind == "file"]
    unused = [block.where for block, name in files if not used_later(read, name, block)]
    assert not unused, "written and never used: name it in a later block, or in `after` of the registry"


def test_the_registry_names_pages_and_blocks_that_exist() -> None:
    """A page that moved, or a block that was written anew, takes its line with it."""
    assert not registered().keys() - set(PAGES)
    for page, read in registered().items():
        gone = [key for key in read.named() if not any(is_key_of(key, block) for block in blocks_of(page))]
        assert not gone, f"{page} has no such blocks"


def test_the_registry_names_tests_that_exist_and_read_the_page() -> None:
    """Coverage is a test whose module names the page; it is looked for by name, not believed."""
    for page, read in registered().items():
        for test in read.covered.values():
            path, _, name = test.partition("::")
            assert name, test
            tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
            assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, test
            assert reads_the_page(test, page), f"{path} does not name {page}"


def test_a_block_that_is_refused_has_nothing_after_the_refusal() -> None:
    """A command after the refusal would not be typed."""
    for page, read in registered().items():
        for block in blocks_of(page):
            if block.key in read.fails:
                assert block.language == "console" or len(simple_commands(block.text)) == 1, block.where


def test_what_is_only_shown_could_not_be_run() -> None:
    """Diagrams and the like: a command, a program or a declaration is never waved through."""
    for page, read in registered().items():
        for block, kind in read.kinds(page):
            assert kind != "shown" or (block.language not in RUNNABLE and not block.is_shell), block.where
            assert kind != "shown" or not block.language.startswith("pycon"), block.where


@pytest.mark.parametrize("page", pages())
def test_no_block_hides_from_the_tests(page: str) -> None:
    """Markdown's own parser finds no fence that the tests do not, no code by indentation, and no HTML block of code."""
    text = text_of(page)
    lines = text.splitlines()
    found = [range(block.line - 2, block.line + block.text.count("\n")) for block in blocks_of(page)]
    for token in MarkdownIt("commonmark").parse(text):
        begins = token.map[0] if token.map else 0
        known = any(begins in inside for inside in found)
        if token.type == "fence":
            assert known, f"{page}:{begins + 1}: a fence that tests/pages/blocks.py does not see"
        elif token.type == "code_block" and not known:
            before = [line for line in lines[:begins] if line.strip() and len(line) - len(line.lstrip()) < 4]
            assert before, f"{page}:{begins + 1}"
            assert OPENS.match(before[-1]), f"{page}:{begins + 1}: code by indentation: write a fence"
        elif token.type == "html_block":
            assert "<pre" not in token.content, f"{page}:{begins + 1}: code in HTML: write a fence"


@every_page
def test_blocks_can_be_read(page: str) -> None:
    """TOML, YAML, JSON and Python parse; what is imported or used of anonkit exists."""
    for block, kind in settings(page).kinds(page):
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language in ("yaml", "yml"):
            yaml.safe_load(block.text)
        elif block.language == "json" and kind != "output":
            json.loads(block.text)
        elif block.is_python and block.file != "Snakefile":
            _resolve(block)


@every_page
def test_every_command_line_is_one_that_the_program_takes(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands, options and arguments, and parameters as the method declares them; nothing is run."""
    monkeypatch.chdir(tmp_path)
    for block, kind in settings(page).kinds(page):
        if block.is_shell or kind == "shell":
            text = block.text
            if block.language == "console":
                text = "\n".join(command for command, _ in of_a_console(text))
            for arguments in command_lines(text):
                if set(settings(page).methods) & set(arguments):
                    assert kind == "covered", block.where
                    continue
                try:
                    read_by_the_program(arguments)
                except (click.ClickException, AnonkitError) as error:
                    pytest.fail(f"{block.where}: anonkit {' '.join(arguments)}: {error}")
            for words, _ in simple_commands(text):
                assert words[0] != "pip" or not refused(words[1:], declared_extras()), block.where


@every_page
def test_policies_and_recipes_of_a_page_can_be_loaded(page: str, tmp_path: Path) -> None:
    """A policy that pre-commit would refuse is on no page."""
    read = settings(page)
    declared = [(one, kind) for one, kind in read.kinds(page) if one.language == "toml" and kind in ("file", "covered")]
    declared = [(one, kind) for one, kind in declared if one.file != "pyproject.toml"]
    if declared:
        make_inputs(read, tmp_path)
    for block, _ in declared:
        path = tmp_path / str(read.file_of(block) or "block.toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        policy = tomllib.loads(block.text).get("policy")
        if isinstance(policy, str) and not (tmp_path / policy).exists():
            (tmp_path / policy).touch()
        assert declaration_problem(path) is None, block.where


def _resolve(block: Block) -> None:
    """Look up every name of anonkit in a block; a module whose tool is not installed is read and not imported."""
    tree = ast.parse(block.text, block.page)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "anonkit":
            for alias in node.names:
                assert _has(str(node.module), alias.name), f"{block.where}: no {alias.name} in {node.module}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                known = not alias.name.startswith("anonkit") or importlib.util.find_spec(alias.name)
                assert known, f"{block.where}: no {alias.name}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "anonkit":
            assert hasattr(anonkit, node.attr), f"{block.where}: no anonkit.{node.attr}"


def _has(module: str, name: str) -> bool:
    if module == "anonkit":
        return hasattr(anonkit, name) or importlib.util.find_spec(f"anonkit.{name}") is not None
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return False
    if spec.submodule_search_locations and importlib.util.find_spec(f"{module}.{name}"):
        return True
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return name in {_name(node) for node in ast.walk(tree)} | {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return None


# --- the machinery itself ---------------------------------------------------------------------------------------


def test_a_new_page_cannot_arrive_untested() -> None:
    """A block of no known language is neither typed nor covered, wherever it is indented."""
    text = "Say:\n\n- this\n\n    ```rust\n    fn main() {}\n    ```\n\n```toml\n[columns]\n```\n"
    (one, two) = blocks_in(text, "a.md")
    assert (one.line, one.language, one.text) == (6, "rust", "fn main() {}\n")
    assert (two.key, two.file) == ("[columns]", None)


def test_files_are_named_by_title_or_first_line() -> None:
    """`# policy.toml`, `# models/a.py`, `title="x.toml"`; a sentence in a comment is none."""
    text = '```toml\n# policy.toml\na = 1\n```\n```python\n# models/a.py\n```\n```toml title="x.toml"\na = 1\n```\n'
    text += "```python\n# see e.g. the policy\n```\n```sh\n# run.sh\n```\n"
    assert [block.file for block in blocks_in(text, "a.md")] == ["policy.toml", "models/a.py", "x.toml", None, None]


def test_blocks_that_begin_alike_are_distinguished() -> None:
    """The second one has a number; a fence that stays open is an error."""
    assert [one.key for one in blocks_in("```sh\nls\n```\n```sh\nls\n```\n", "a.md")] == ["ls", "ls #2"]
    with pytest.raises(ValueError, match=r"a\.md:1"):
        blocks_in("```sh\nls\n", "a.md")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('anonkit a \'b c\' \\\n  --d "e\\"f" # g\nanonkit h > out.txt', [["a", "b c", "--d", 'e"f'], ["h"]]),
        ("X=1 anonkit a && if ! anonkit b; then echo anonkit; fi", [["a"], ["b"]]),
        ("cat > f <<'T'\nanonkit in a file\nT\nanonkit a", [["a"]]),
        ('eval "$(anonkit completion bash)"; x=$(anonkit b | wc -l) 2>&1', [["b"]]),
        ("zcat a.gz | anonkit release - b --format csv", [["release", "-", "b", "--format", "csv"]]),
        ("python -m anonkit a 2> err", [["a"]]),
        ("anonkit release in.csv out.parquet --decimal ,", [["release", "in.csv", "out.parquet", "--decimal", ","]]),
    ],
)
def test_command_lines_are_found_in_a_shell_text(text: str, words: list[list[str]]) -> None:
    """Through quotes, continued lines, comments, pipes, redirections and here-documents."""
    assert command_lines(text) == words


@pytest.mark.parametrize(
    "line",
    [
        "realease in.csv out.parquet",
        "release in.csv",
        "release --k ten in.csv out.parquet",
        "release --method rr --k 3 in.csv out.parquet",
        "release --method rr in.csv out.parquet",
        "release --kk 3 in.csv out.parquet",
        "validate --alpha 2 out.parquet",
        "compare in.csv --target y --methods rfk",
        "methods a b",
    ],
)
def test_a_wrong_command_line_is_refused_without_running_it(line: str) -> None:
    """A command, an argument, a number, a parameter or a method that is not there."""
    with pytest.raises((click.ClickException, AnonkitError, AssertionError)):
        read_by_the_program(line.split())


@pytest.mark.parametrize(
    ("told", "printed", "vary", "same"),
    [
        ("a 1\nb", "a 1  \nb\n\n", False, True),
        ("a 1", "a 2", False, False),
        ("a 1", "a 2", True, True),
        ("a 1.5 of 1,000", "a 22.75 of 9", True, True),
        ("a 1", "b 1", True, False),
        ("a … c", "a b c", False, True),
        ("a\n…\nd", "a\nb\nc\nd", False, True),
        ("a\n…\nd", "a\nd", False, True),
        ("…\nd", "a\nd\ne", False, False),
        ("a", "a\nb", False, False),
    ],
)
def test_what_is_printed_is_compared_by_rule(told: str, printed: str, vary: bool, same: bool) -> None:
    """To the letter, but for `…` and, where it is said, numbers."""
    assert agrees(told, printed, numbers_vary=vary) is same


def test_a_console_has_commands_and_what_they_print() -> None:
    """`$ ` begins a command, `> ` continues it."""
    assert of_a_console("$ a \\\n> b\nc\n\nd\n$ e\n") == [("a \\\nb", "c\n\nd\n"), ("e", "")]
    with pytest.raises(ValueError, match="begins"):
        of_a_console("a")


def test_text_is_output_only_after_something_was_typed() -> None:
    """A page that begins with output shows nobody's."""
    page = Page()
    blocks = blocks_in("```text\na\n```\n```sh\nls\n```\n```text\na\n```\n", "a.md")
    assert [block.is_shell for block in blocks] == [False, True, False]
    assert page.covering(blocks[0]) is None
