"""The measuring script counts what it states, on small packages whose figures are known."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from architecture.package_figures import PackageFigures

PROMISE = """
    class {name}:
        kind: ClassVar[str] = "{kind}"

        def statement(self): ...
"""


def _package(tmp_path: Path, files: dict[str, str]) -> PackageFigures:
    for name, text in files.items():
        path = tmp_path / "anonkit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return PackageFigures(tmp_path / "anonkit")


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
    """A file that branches on the kind of a promise is named, for every way to branch."""
    package = _package(
        tmp_path,
        {
            "__init__.py": "",
            "counted.py": PROMISE.format(name="Counted", kind="counted"),
            "local.py": PROMISE.format(name="Local", kind="local"),
            "report/__init__.py": "",
            "report/page.py": f"def page(promise):\n    return {test}\n",
        },
    )

    assert package.tests_of_kinds == {"report/page.py": [2]}


@pytest.mark.parametrize(
    "text",
    ["isinstance(promise, dict)", 'tree["kind"] == "disjoint"', "Counted(k=5)", "promise.verify(3)", "kind == 'x'"],
)
def test_what_is_no_test_of_a_kind_is_not_counted(tmp_path: Path, text: str) -> None:
    """Making a promise, calling its methods, and kinds of other things are no tests of its kind."""
    promises = PROMISE.format(name="Counted", kind="counted")
    package = _package(tmp_path, {"__init__.py": "", "counted.py": promises, "page.py": f"{text}\n"})

    assert package.tests_of_kinds == {}


def test_a_promise_that_inherits_its_sentence_is_one(tmp_path: Path) -> None:
    """A kind and a formal statement are enough: every test of its kind is counted."""
    promise = PROMISE.format(name="Counted", kind="counted").replace("def statement", "def formal")
    test = "def page(promise):\n    return isinstance(promise, Counted)\n"
    package = _package(tmp_path, {"__init__.py": "", "a.py": promise, "page/__init__.py": "", "page/b.py": test})

    assert package.tests_of_kinds == {"page/b.py": [2]}


def test_the_package_of_the_promises_may_know_their_kinds(tmp_path: Path) -> None:
    """A table of all kinds may be in the package of the promises."""
    package = _package(
        tmp_path,
        {
            "__init__.py": "",
            "promises/counted.py": PROMISE.format(name="Counted", kind="counted"),
            "promises/kinds.py": "KINDS = (Counted, Counted)\n",
        },
    )

    assert package.tests_of_kinds == {}


def test_dependencies_are_counted_between_names_at_the_top(tmp_path: Path) -> None:
    """An import of another name at the top is one dependency, however often it occurs, late or at the top."""
    package = _package(
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

    assert package.dependencies == {("a", "b"), ("a", "c"), ("b", "c")}
    assert package.names_at_the_top == ["a", "c", "b"]


def test_a_stem_that_two_modules_share_is_named(tmp_path: Path) -> None:
    """Two files of one name are named, in whichever folders they are."""
    package = _package(tmp_path, {"__init__.py": "", "a/cells.py": "", "b/cells.py": "", "b/rows.py": ""})

    assert package.stems_used_twice == {"cells": ["a/cells.py", "b/cells.py"]}
