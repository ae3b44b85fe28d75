"""Names in the package are the field's: none has a word that this package once used in a sense of its own."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "anonkit"

WORDS = (
    *("told", "tell", "tells", "said", "say", "says", "ask", "asks", "asked"),
    *("held", "hold", "holds", "kept", "drawn", "stand", "stands"),
)
"""Words of a sense of its own; values became stated, requested, retained, supported, sampled, synthetic, accepted."""

RIGHT = {
    ("held_out", "comparing/foreseen_release.py"): "the field's term: rows that a model is tested on",
    ("held_out", "comparing/model_scores.py"): "the field's term: rows that a model is tested on",
    ("ask", "cli/init.py"): "the option --ask, and questions to the owner by it",
    ("ask", "drafting/policy_draft.py"): "a public argument",
    ("told", "errors.py"): "a public attribute",
    ("hold", "protocols.py"): "a public method of engines",
    ("hold", "engines/local/local_engine.py"): "a public method of engines",
    ("hold", "engines/spark/spark_engine.py"): "a public method of engines",
    ("holds", "ledger/store.py"): "a public method of ledgers",
    ("KEPT", "integrations/dagster.py"): "the public name of an asset check",
    ("drawn", "consumers/reconstruction.py"): "a public field, and a key of its document",
    ("asked", "consumers/marginal_queries.py"): "a key of a document",
    ("asked_column", "consumers/release_files.py"): "a key of the params",
    ("class_effect_told", "consumers/learning_power.py"): "a key of a document",
    ("base_rate_told", "consumers/learning_power.py"): "a key of a document",
    ("stands_out", "pipeline/suppression.py"): "a key of the report",
}
"""Names that are part of a contract, or the field's, and the reason."""

LEFT = {"checks": 8, "k_anonymity": 14, "policy": 1, "published": 2, "utility": 1}
"""Most such names in the packages that have some still; a limit may fall, not rise."""

_WORD = re.compile(rf"(?:^|_)(?:{'|'.join(WORDS)})(?:_|$)", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _given(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module gives to functions, classes, arguments, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _private(source: str) -> set[str]:
    """Return the names of a module that have one of the words."""
    return {name for name in _given(ast.parse(source)) if _WORD.search(_HUMP.sub("_", name))}


def test_no_name_has_a_private_word() -> None:
    """Some 660 had. A place that is right is named with its reason, and goes when it is gone."""
    found = {
        (name, path.relative_to(PACKAGE).as_posix())
        for path in PACKAGE.rglob("*.py")
        for name in _private(path.read_text(encoding="utf-8"))
    }
    wrong = found - RIGHT.keys()
    number = Counter(place.partition("/")[0] for _, place in wrong)
    over = {package for package in number if number[package] > LEFT.get(package, 0)}
    assert [one for one in wrong if one[1].partition("/")[0] in over] == [], "a noun, a verb, or is_ and has_"
    assert RIGHT.keys() - found == set()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def told_twice(held_rows): kept, a.asked = 1, 2", {"told_twice", "held_rows", "kept", "asked"}),
        ("class DrawnRows:\n    async def ask(self): ...", {"DrawnRows", "ask"}),
        ("for _KEPT in rows: pass\n[says for says in rows]", {"_KEPT", "says"}),
        ("threshold, standing, withhold = told.asked(kept=drawn), taskset, 'held'", set()),
    ],
)
def test_every_kind_of_name_is_read(source: str, expected: set[str]) -> None:
    """Definitions and assignments, words in capitals and in class names; no use, no string and no longer word."""
    assert _private(source) == expected
