# SPDX-License-Identifier: Apache-2.0
"""The list of methods in the docs is made from the methods themselves. Run this file to write it anew."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from anonkit.methods import METHODS, claim_of, method_class

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "methods"
LIST = PAGES / "README.md"
UPDATE = "out of date: python tests/methods/test_pages.py"

HEAD = """# Methods

One page a method: its story, what it promises and what it does not, its parameters, when not to use it. Parameters and
presets are also listed by `anonkit methods NAME`. [`anonkit apply`](recoded.md) recodes the next batch of a table by a
k-anonymous release. This list is written by `python tests/methods/test_pages.py`.
"""


def page_of(name: str) -> str:
    """Return the file name of a method's page."""
    return f"{name.replace('-', '_')}.md"


def kind_of(name: str) -> str:
    """Return the kind of a method's promise, before any policy."""
    claim = claim_of(method_class(name))
    return claim["kind"] if claim else "depends on the policy and the parameters"


def listed() -> str:
    """Return the page that lists all methods, by promise and then by name."""
    parts = [HEAD]
    for kind, names in groupby(sorted(METHODS, key=lambda name: (kind_of(name), name)), key=kind_of):
        parts.append(f"\n## Promise: {kind}\n\n| method | in short | published in |\n| --- | --- | --- |\n")
        for name in names:
            method = method_class(name)
            parts.append(f"| [`{name}`]({page_of(name)}) | {method.summary} | {method.paper} |\n")
    return "".join(parts)


def test_the_list_of_methods_is_up_to_date() -> None:
    """Every method, its promise, its summary and its paper."""
    assert LIST.read_text(encoding="utf-8") == listed(), UPDATE


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_one_file_one_test_one_page(name: str) -> None:
    """The three have one name, and the page says the method's name at its top."""
    stem = name.replace("-", "_")
    assert (ROOT / "anonkit" / "methods" / f"{stem}.py").exists()
    assert (ROOT / "tests" / "methods" / f"test_{stem}.py").exists()
    assert (PAGES / page_of(name)).read_text(encoding="utf-8").splitlines()[0] == f"# {name}"


def test_every_page_is_of_a_method() -> None:
    """No page outlives its method; `recoded` is what `anonkit apply` does."""
    pages = {path.name for path in PAGES.glob("*.md")}
    assert pages == {page_of(name) for name in METHODS} | {"README.md", "recoded.md"}


if __name__ == "__main__":
    LIST.write_text(listed(), encoding="utf-8")
