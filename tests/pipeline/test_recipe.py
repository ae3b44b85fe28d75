"""Recipes: every one that ships runs, and mistakes in one are named."""

from __future__ import annotations

from pathlib import Path

import pytest

import anonkit
from anonkit.errors import PolicyError
from anonkit.pipeline.recipe import Recipe

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if "spark" in path.stem else ()) for path in RECIPES],
    ids=lambda path: path.stem,
)
def test_every_recipe_makes_a_release_that_validates(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What ships runs; recipes on real tables need them, the published preset is given fewer trees here."""
    recipe = Recipe.load(path)
    if recipe.input is not None:
        request.getfixturevalue("real_tables")
    if recipe.engine == "spark":
        request.getfixturevalue("spark")
    if recipe.method == "rfka":
        recipe.parameters["trees"] = 20  # type: ignore[index]
    release = recipe.run(output=tmp_path / "out.parquet")

    assert anonkit.validate(release).passed
    if release.report["guarantee"]["kind"] == "k-anonymity":
        assert release.report["disclosure_risk"]["k_anonymity"]["k"] >= 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metod = 'rfka'", "did you mean 'method'"),
        ("method = 'rfka'\noutput = 'x.parquet'", "either input or simulate"),
        ("method = 'rfka'\ninput = 'a.csv'\nsimulate = {}\noutput = 'x.parquet'", "either input or simulate"),
        ("method = 3\ninput = 'a.csv'\noutput = 'x.parquet'", "method must be a text"),
        ("method = 'rfka'\nsimulate = { row = 3 }\noutput = 'x.parquet'", "simulate must be a table"),
        ("method = 'rr'\ninput = 'a.csv'\noutput = 'x.parquet'\nspark = { mastr = 'x' }", "spark must be a table"),
        ("method = 'rr'\ninput = 'a.csv'\noutput = 'x.parquet'\npart_rows = 0", "part_rows must be a whole number"),
        ("method = 'rr'\ninput = 'a.csv'\noutput = 'x.parquet'\nsearch_rows = true", "search_rows must be a whole"),
        ("nothing", "is not TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    """Each mistake is refused with the key and the rule."""
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(PolicyError) as caught:
        Recipe.load(path)
    assert said in str(caught.value)


def test_bounds_of_rows_are_heeded(tmp_path: Path) -> None:
    """A sample is searched, and the data are a folder."""
    path = tmp_path / "recipe.toml"
    path.write_text(
        "method = 'mondrian'\nsimulate = { rows = 300 }\noutput = 'x.parquet'\nsearch_rows = 200\npart_rows = 100\n"
    )
    release = Recipe.load(path).run(ledger=None)
    assert release.report["search"]["sample"]["rows"] == 200
    assert len(list((tmp_path / "x.parquet").iterdir())) == 3


def test_an_absent_recipe_is_said(tmp_path: Path) -> None:
    """A path that leads nowhere."""
    with pytest.raises(PolicyError, match="does not exist"):
        Recipe.load(tmp_path / "none.toml")


def test_parameters_are_named_as_on_the_command_line(tmp_path: Path) -> None:
    """With dashes or without, and `as` although Python keeps that word for itself."""
    path = tmp_path / "recipe.toml"
    head = 'method = "dp-forest"\nsimulate = { rows = 60 }\noutput = "out.parquet"\n'
    for given in ('as = "cells"\nn-rows = 60\n', 'as_ = "cells"\nn_rows = 60\n'):
        path.write_text(f"{head}[parameters]\nepsilon = 1\n{given}", encoding="utf-8")
        assert Recipe.load(path).parameters == {"epsilon": 1, "as_": "cells", "n_rows": 60}
    path.write_text(
        'method = "rr"\nsimulate = { rows = 60 }\noutput = "out.parquet"\nparameters = 1\n', encoding="utf-8"
    )
    with pytest.raises(PolicyError, match="parameters must be a table"):
        Recipe.load(path)
