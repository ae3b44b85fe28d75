"""Generalization trees: paths of one length whose levels refine each other, from a list or a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonkit.errors import PolicyError
from anonkit.policy.generalization_trees import check_tree, declared_tree

TREE = (("10115", "101", "Berlin"), ("10117", "101", "Berlin"), ("80331", "803", "Munich"))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ((), "same number of levels"),
        ((("a", "x"), ("b",)), "row 2 has 1, row 1 has 2"),
        ((("a", "x"), ("a", "y")), "twice in the tree, in row 1 and row 2"),
        ((("a", "x", "top"), ("b", "x", "other")), "two different parents at level 2"),
    ],
)
def test_what_is_no_hierarchy_is_refused(tree: tuple[tuple[str, ...], ...], message: str) -> None:
    """By the rows that contradict each other."""
    with pytest.raises(PolicyError, match=message):
        check_tree("column 'zip'", tree)
    check_tree("column 'zip'", TREE)


@pytest.mark.parametrize("header", ["", "zip,group,city\n", "value,level 1,level 2\n"])
def test_a_file_is_read_with_or_without_a_header(tmp_path: Path, header: str) -> None:
    """A first line that names the column, or has usual headings, is no path."""
    (tmp_path / "zip.csv").write_text(header + "".join(",".join(path) + "\n" for path in TREE))
    assert declared_tree("column 'zip'", "zip", "zip.csv", tmp_path) == TREE
    assert declared_tree("column 'zip'", "zip", [list(path) for path in TREE], None) == TREE
