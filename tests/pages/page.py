"""Facts about a page besides its text: its inputs, its files, and the tests of blocks that are not typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from pages.blocks import OUTPUT, Block, blocks_of, text_of

Maker = Callable[[Path], object]
"""Writes an input of a page to the path it is given."""

REGISTRIES = sorted((Path(__file__).parent / "registry").glob("*.py"))


@dataclass(frozen=True, kw_only=True)
class Page:
    """The way in which the tests read a page. Blocks are named by their first line (`pages.blocks.Block.key`).

    Parameters
    ----------
    inputs : mapping
        Files that the page takes for granted, and who makes them.
    needs : tuple of str
        Fixtures without which it cannot be read: `server` (a PostgreSQL server), `spark_is_there`, …
    files : mapping
        Blocks that are files of the reader, and have neither a title nor a comment that says so.
    after : mapping
        What a reader does with a block, typed into the shell after it; the key `""` is the end of the page. For
        policies and recipes that no later block of the page uses.
    first : str
        What is typed before the page begins: the release that it starts from. Errors of it are errors of the page.
    fails : mapping
        Blocks whose last command must be refused, and its exit code: of one command, or a `console`.
    environment : mapping
        Variables of the reader's shell.
    stand_ins : mapping
        Text of the page, and its replacement here: servers, folders of the system.
    covered : mapping
        Blocks that a test of the repository reads from the page: `tests/….py::name`. A `*` at the end of the key stands
        for any rest.
    shown : mapping
        Blocks that are neither typed nor printed, and why. Not for shell, Python, TOML, YAML and SQL.
    varying : tuple of str
        Output blocks whose numbers differ from draw to draw: a number of the page represents any number.
    leaves : tuple of str
        Files that must be there in the end.
    methods : tuple of str
        Methods that a package of the page brings: whether their command lines are taken, the covering test says.
    quick : bool
        The gate reads it too, in its own process.
    """

    inputs: Mapping[str, Maker] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    first: str = ""
    fails: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    covered: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    varying: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    quick: bool = False

    def file_of(self, block: Block) -> str | None:
        """Return the file that a block is."""
        return self.files.get(block.key) or (block.file if not block.is_shell else None)

    def covering(self, block: Block) -> str | None:
        """Return the test that covers a block."""
        return _under(self.covered, block)

    def kinds(self, page: str) -> list[tuple[Block, str]]:
        """Return every block of a page with what becomes of it.

        `covered` by a test of its own, `shown`, written to a `file`, typed (`shell`, `python`), `output` of what was
        typed before it, or `unknown`.
        """
        found: list[tuple[Block, str]] = []
        typed = False
        for block in blocks_of(page):
            if self.covering(block) is not None:
                kind = "covered"
            elif _under(self.shown, block) is not None:
                kind = "shown"
            elif self.file_of(block) is not None:
                kind = "file"
            elif block.is_shell:
                kind = "shell"
            elif block.is_python:
                kind = "python"
            else:
                kind = "output" if typed and block.language in OUTPUT else "unknown"
            typed = kind in ("shell", "python", "output") or (typed and kind == "file")
            found.append((block, kind))
        return found

    def named(self) -> set[str]:
        """Return the blocks that it names."""
        return {*self.files, *(self.after.keys() - {""}), *self.covered, *self.shown, *self.varying, *self.fails}


def _under(said: Mapping[str, str], block: Block) -> str | None:
    return next((words for key, words in said.items() if is_key_of(key, block)), None)


def is_key_of(key: str, block: Block) -> bool:
    """Return whether a key names a block."""
    return block.key == key or (key.endswith("*") and block.key.startswith(key[:-1]))


def registered() -> dict[str, Page]:
    """Return the registry: all pages that need more than their text."""
    found: dict[str, Page] = {}
    for path in REGISTRIES:
        more: Mapping[str, Page] = import_module(f"pages.registry.{path.stem}").PAGES
        assert not found.keys() & more.keys(), path
        found |= more
    return found


def settings(page: str) -> Page:
    """Return what is registered of a page."""
    return registered().get(page, Page())


def used_later(page: Page, name: str, at: Block) -> bool:
    """Return whether a later command or text of the page names a file of the reader, or a test covers it."""
    blocks = blocks_of(at.page)
    rest = [one.text for one in blocks[blocks.index(at) + 1 :]]
    return any(Path(name).name in text for text in (*rest, *page.after.values()))


def reads_the_page(test: str, page: str) -> bool:
    """Return whether the module of a test names a page, as it must to read a block from it."""
    return Path(page).name in (Path(__file__).parents[2] / test.partition("::")[0]).read_text(encoding="utf-8")


__all__ = ["Maker", "Page", "is_key_of", "reads_the_page", "registered", "settings", "text_of", "used_later"]
