"""Tests are found by the name of their module, and the figures of a tree are those of its files."""

from __future__ import annotations

from pathlib import Path

from architecture.figures import TREE, converters, figures, modules_without_test


def test_every_module_has_a_test_of_its_name() -> None:
    """A new module brings its test, and one that gets another name renames it."""
    assert modules_without_test(TREE) == [], "add tests/PACKAGE/…/test_MODULE.py or test_FOLDER_MODULE.py"


def test_figures_are_those_of_the_files(tmp_path: Path) -> None:
    """A tree of a few lines, counted by hand."""
    files = {
        "anonkit/methods/dp_toy.py": "class Toy:\n    def to_params(self): ...\n    def to_dict(self): return {}\n",
        "anonkit/documents.py": "class Part:\n    def to_params(self): return written(self)\n",
        "anonkit/checks/doors.py": '"""dp-toy"""\ndef f(params):\n    return "trees" in params or params == "dp-toy"\n',
        "anonkit/checks/own/parts.py": "class Toy: ...\nclass _Own: ...\n",
        "anonkit/pipeline/python_calls.py": "def release(a, b, *, c, **rest): ...\n",
        "tests/checks/test_doors.py": "",
        "tests/checks/test_own_parts.py": "",
        "tests/pipeline/test_calls.py": "",
        "tests/test_documents.py": "",
        "tests/test_dp_toy.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = figures(tmp_path)

    assert modules_without_test(tmp_path) == ["methods/dp_toy", "pipeline/python_calls"]
    assert found["lines of the package"] == 11
    assert found["lines of checks"] == 5
    assert found["branches of checks on a method or key"] == 1
    assert found["names of methods as strings in checks"] == 1
    assert found["named parameters of release"] == 3
    assert list(converters(tmp_path)) == ["anonkit/methods/dp_toy.py:3 to_dict"]
    assert found["hand-written converters"] == 1
    assert found["public class names used twice or more"] == 1
