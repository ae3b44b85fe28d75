"""The tables of packages and modules in the documentation are those of the package."""

from __future__ import annotations

import ast
import re

from architecture.module_map import PACKAGE, PAGES, UPDATE, first_line, module_files, packages, reached_from, rewritten
from test_imports import LAYERS


def test_packages_modules_and_methods_are_up_to_date() -> None:
    """Every package, every module's first line, and the files each method reaches; a script writes them."""
    written = [path.read_text(encoding="utf-8") for path in PAGES]
    assert [rewritten(page, LAYERS) for page in written] == written, UPDATE
    assert sum(page.count("python tests/architecture/module_map.py -->") for page in written) == 3


def test_the_page_can_be_read_at_once() -> None:
    """The explanation is for a person who begins: under 2,500 words, its table of packages among them."""
    assert len(PAGES[0].read_text(encoding="utf-8").split()) < 2_500


def test_every_package_is_in_one_layer() -> None:
    """No package is left out of the table, and none is named that is not there."""
    assert sorted(name for layer in LAYERS for name in layer) == sorted(packages())


def test_every_module_says_in_one_line_what_it_is_for() -> None:
    """The first line of its docstring is a sentence that ends."""
    unsaid = [str(path.relative_to(PACKAGE)) for path in module_files() if not first_line(path).endswith((".", "`"))]
    assert unsaid == []


def test_a_package_names_modules_that_it_has() -> None:
    """Each name in double backticks in the docstring of a package; some seventy were of modules that had moved on."""
    wrong = {}
    for path in PACKAGE.rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        named = set(re.findall(r"``([^`]+)``", text))
        there = {one.stem for one in path.parent.iterdir() if one.suffix == ".py" or one.is_dir()}
        if named - there:
            wrong[str(path.relative_to(PACKAGE))] = sorted(named - there)
    assert wrong == {}


def test_a_method_reaches_the_files_of_its_own_family_alone() -> None:
    """k-anonymity, randomized response and noisy counts share mathematics and no search."""
    families = {"k_anonymity", "randomized_response", "dp_trees"}
    mixed = {
        path.stem: sorted(reached)
        for path in (PACKAGE / "methods").glob("*.py")
        if len(reached := {file.relative_to(PACKAGE).parts[0] for file in reached_from(path)} & families) > 1
    }
    assert mixed == {}
