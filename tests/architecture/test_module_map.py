"""The map of rooms and modules in docs/explanation/architecture.md is that of the package."""

from __future__ import annotations

from architecture.module_map import PACKAGE, PAGE, UPDATE, first_line, module_files, reached_from, rewritten, rooms
from test_imports import ROWS


def test_the_map_of_rooms_modules_and_methods_is_up_to_date() -> None:
    """Every room, every module's first line, and the files each method reaches; a script writes them."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == rewritten(page, ROWS), UPDATE


def test_every_room_stands_in_one_row() -> None:
    """No room is left out of the table, and none is named that is not there."""
    assert sorted(name for row in ROWS for name in row) == sorted(rooms())


def test_every_module_says_in_one_line_what_it_is_for() -> None:
    """The first line of its docstring is a sentence that ends."""
    unsaid = [str(path.relative_to(PACKAGE)) for path in module_files() if not first_line(path).endswith((".", "`"))]
    assert unsaid == []


def test_a_method_reaches_the_files_of_its_own_family_alone() -> None:
    """k-anonymity, randomized response and noisy counts share mathematics and no search."""
    families = {"k_anonymity", "randomized_response", "dp_trees"}
    mixed = {
        path.stem: sorted(reached)
        for path in (PACKAGE / "methods").glob("*.py")
        if len(reached := {file.relative_to(PACKAGE).parts[0] for file in reached_from(path)} & families) > 1
    }
    assert mixed == {}
