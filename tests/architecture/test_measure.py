"""The measuring script finds what it says it counts: seen on small packages whose figures are known."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from architecture.house import House

PROMISE = """
    class {name}:
        kind: ClassVar[str] = "{kind}"

        def statement(self): ...
"""


def _package(tmp_path: Path, files: dict[str, str]) -> House:
    for name, text in files.items():
        path = tmp_path / "anonkit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return House(tmp_path / "anonkit")


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(promise, Counted)",
        "isinstance(promise, Local | Other)",
        'getattr(promise, "epsilon", None)',
        'report["guarantee"]["kind"] == "counted"',
        'guarantee.get("kind") != "none"',
        "promise.kind in (Counted.kind, Local.kind)",
        'KINDS[block["kind"]]',
        "{Counted: 1, Local: 2}",
    ],
)
def test_every_way_to_test_a_kind_is_found(tmp_path: Path, test: str) -> None:
    """A file is named that branches on the kind of a promise, in whichever way it does."""
    house = _package(
        tmp_path,
        {
            "__init__.py": "",
            "counted.py": PROMISE.format(name="Counted", kind="counted"),
            "local.py": PROMISE.format(name="Local", kind="local"),
            "report/__init__.py": "",
            "report/page.py": f"def page(promise):\n    return {test}\n",
        },
    )

    assert house.tests_of_kinds == {"report/page.py": [2]}


@pytest.mark.parametrize(
    "text",
    ["isinstance(promise, dict)", 'tree["kind"] == "disjoint"', "Counted(k=5)", "promise.verify(3)", "kind == 'x'"],
)
def test_what_is_no_test_of_a_kind_is_not_counted(tmp_path: Path, text: str) -> None:
    """Making a promise, asking it, and kinds of other things are no tests of its kind."""
    promises = PROMISE.format(name="Counted", kind="counted")
    house = _package(tmp_path, {"__init__.py": "", "counted.py": promises, "page.py": f"{text}\n"})

    assert house.tests_of_kinds == {}


def test_a_promise_that_inherits_its_sentence_is_one(tmp_path: Path) -> None:
    """A kind and what it says as the field does are enough: no test of it goes uncounted."""
    promise = PROMISE.format(name="Counted", kind="counted").replace("def statement", "def formal")
    test = "def page(promise):\n    return isinstance(promise, Counted)\n"
    house = _package(tmp_path, {"__init__.py": "", "a.py": promise, "page/__init__.py": "", "page/b.py": test})

    assert house.tests_of_kinds == {"page/b.py": [2]}


def test_the_room_of_the_promises_may_know_their_kinds(tmp_path: Path) -> None:
    """A table of all kinds may stand beside them."""
    house = _package(
        tmp_path,
        {
            "__init__.py": "",
            "promises/counted.py": PROMISE.format(name="Counted", kind="counted"),
            "promises/kinds.py": "KINDS = (Counted, Counted)\n",
        },
    )

    assert house.tests_of_kinds == {}


def test_arrows_are_counted_between_rooms(tmp_path: Path) -> None:
    """An import is an arrow when it leaves its room, once however often it is written, late or at the top."""
    house = _package(
        tmp_path,
        {
            "__init__.py": "",
            "a.py": "from anonkit.b.one import x\n\ndef late():\n    import anonkit.c\n",
            "b/__init__.py": "",
            "b/one.py": "from anonkit.b import two\nfrom anonkit.c import y\nfrom anonkit import c\n",
            "b/two.py": "",
            "c.py": "",
        },
    )

    assert house.arrows == {("a", "b"), ("a", "c"), ("b", "c")}
    assert house.names_at_the_top == ["a", "c", "b"]


def test_a_stem_that_stands_for_two_things_is_named(tmp_path: Path) -> None:
    """Two files of one name are told, wherever they stand."""
    house = _package(tmp_path, {"__init__.py": "", "a/cells.py": "", "b/cells.py": "", "b/rows.py": ""})

    assert house.stems_used_twice == {"cells": ["a/cells.py", "b/cells.py"]}
