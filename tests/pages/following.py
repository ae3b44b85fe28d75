"""A page followed by the letter: inputs made, blocks typed in order, what is printed compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pages.blocks import Block, blocks_of
from pages.page import Page
from pages.printed import agrees, of_a_console
from pages.readers import Refused, Typing


def make_inputs(page: Page, folder: Path) -> None:
    """Write what the page takes for granted."""
    for name, maker in page.inputs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        maker(path)


def follow(name: str, page: Page, folder: Path, reader: Typing, stand_ins: Mapping[str, str]) -> None:
    """Type the blocks of a page in order.

    Raises
    ------
    Refused
        A block did not end well, or printed something else than the page says.
    """
    printed = ""
    if page.first:
        reader.shell(_stood_in(replace(blocks_of(name)[0], line=0, text=page.first), stand_ins))
    for block, kind in page.kinds(name):
        here = _stood_in(block, stand_ins)
        if kind == "file":
            path = folder / str(page.file_of(block))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(here.text, encoding="utf-8")
        elif kind == "python":
            printed = reader.python(here)
        elif kind == "shell" and block.language == "console":
            printed = _console(here, page, reader)
        elif kind == "shell":
            printed = reader.shell(here, page.fails.get(block.key, 0))
        elif kind == "output":
            _compare(here, here.text, printed, page)
        if block.key in page.after:
            reader.shell(_stood_in(replace(block, text=page.after[block.key]), stand_ins))
    if "" in page.after:
        last = blocks_of(name)[-1]
        reader.shell(_stood_in(replace(last, text=page.after[""]), stand_ins))
    missing = [file for file in page.leaves if not (folder / file).exists()]
    if missing:
        raise Refused(f"{name} leaves no {missing}")


def _console(block: Block, page: Page, reader: Typing) -> str:
    printed = ""
    commands = of_a_console(block.text)
    for at, (command, told) in enumerate(commands, 1):
        ends = page.fails.get(block.key, 0) if at == len(commands) else 0
        printed = reader.shell(replace(block, text=command), ends)
        if told:
            _compare(block, told, printed, page)
    return printed


def _compare(block: Block, told: str, printed: str, page: Page) -> None:
    if not agrees(told, printed, numbers_vary=block.key in page.varying):
        raise Refused(f"{block.where} says that this is printed:\n{told}\nand this was:\n{printed}")


def _stood_in(block: Block, stand_ins: Mapping[str, str]) -> Block:
    text = block.text
    for told, here in stand_ins.items():
        text = text.replace(told, here)
    return replace(block, text=text)
