"""Choices of an engine: values that are checked before anything is opened."""

from __future__ import annotations

import pytest

from anonkit.engines import ENGINES, Local, LocalEngine, Spark
from anonkit.engines.engine_choice import OpenEngine, engine_choice
from anonkit.errors import ParameterError
from anonkit.protocols import SEARCH_ROWS


def test_a_name_with_its_settings_makes_the_value() -> None:
    """Settings that are not given keep their defaults."""
    assert engine_choice("local", search_rows=None) == Local() == Local(search_rows=SEARCH_ROWS)
    assert engine_choice("local", search_rows=7) == Local(search_rows=7)
    assert engine_choice("spark", master="yarn", conf={"a": "b"}) == Spark(master="yarn", conf={"a": "b"})
    assert ENGINES == ("local", "spark")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "lokal"}, "is not known"),
        ({"name": "local", "master": "yarn"}, "no master and no settings"),
        ({"name": "local", "conf": {"a": "b"}}, "no master and no settings"),
        ({"name": "local", "search_rows": 0}, "search_rows \\(0\\) must be an integer in"),
        ({"name": "spark", "search_rows": -1}, "search_rows \\(-1\\) must be an integer in"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(given: dict[str, object], said: str) -> None:
    """Before an engine is opened."""
    with pytest.raises(ParameterError, match=said):
        engine_choice(**given)  # type: ignore[arg-type]


def test_a_chosen_engine_is_closed_in_the_end_and_an_open_one_stays_open() -> None:
    """The private folder of the first is gone after the context, that of the second is not."""
    with Local(search_rows=7).opened() as engine:
        assert engine.search_rows == 7
        private = engine._private.path  # type: ignore[attr-defined]
        assert private.exists()
    assert not private.exists()
    with LocalEngine() as mine:
        with OpenEngine(engine=mine).opened() as engine:
            assert engine is mine
        assert mine._private.path.exists()
