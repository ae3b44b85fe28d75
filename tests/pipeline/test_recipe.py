"""Recipes: every one that ships runs, and mistakes in one are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anonkit
from anonkit.datasets import survey_respondents
from anonkit.engines import Spark
from anonkit.errors import ParameterError, PolicyError
from anonkit.ledger.account import Account
from anonkit.pipeline.recipe import Recipe
from anonkit.pipeline.release_space import Output
from anonkit.policy.declaration import Policy

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
LONG = re.compile("spark|adult-(diffprfs|mondrian|paper)")
"""A cluster, and methods that other recipes release smaller tables by."""


@pytest.mark.quick_cases("hospital-dp-tables")
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if LONG.search(path.stem) else ()) for path in RECIPES],
    ids=lambda path: path.stem,
)
def test_every_recipe_makes_a_release_that_validates(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Shipped recipes run; recipes on real tables need them, the published preset is given fewer trees here."""
    recipe = Recipe.load(path)
    if recipe.input is not None:
        request.getfixturevalue("real_tables")
    if recipe.engine.name == "spark":
        request.getfixturevalue("spark")
    if recipe.method == "rfka":
        recipe.parameters["trees"] = 20  # type: ignore[index]
    release = recipe.run(output=tmp_path / "out.parquet")

    assert anonkit.validate(release).passed
    if release.report["guarantee"]["kind"] == "k-anonymity":
        assert release.report["disclosure_risk"]["k_anonymity"]["k"] >= 10


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder of recipes as in a fresh checkout, the public tables where they are looked for; Spark's run here."""
    folder = tmp_path / "checkout" / "recipes"
    folder.mkdir(parents=True)
    for path in RECIPES:
        text = path.read_text(encoding="utf-8")
        (folder / path.name).write_text(text.replace('engine = "spark"', 'engine = "local"'), encoding="utf-8")
    shared = RECIPES[0].parents[2] / "shared"
    if shared.exists():
        (tmp_path / "shared").symlink_to(shared)
    return folder


def _run_in_turn_and_again(folder: Path, names: list[str]) -> None:
    """Run recipes one after another, and then once more: the second time each hands back its release."""
    first = {name: Recipe.load(folder / f"{name}.toml").run() for name in names}
    for name in names:
        recipe = Recipe.load(folder / f"{name}.toml")
        again = recipe.run()
        assert again.reused
        assert again.to_arrow().equals(first[name].to_arrow())
        assert again.params == first[name].params
        assert recipe.output.place is not None
        assert recipe.output.place.folder.is_relative_to(folder / "out" / name)


@pytest.mark.slow
@pytest.mark.parametrize("names", [["bank-ppnb", "bank-spark"], ["bank-spark", "bank-ppnb"]], ids="-then-".join)
def test_two_recipes_on_the_same_rows_run_in_one_checkout(checkout: Path, names: list[str]) -> None:
    """Both randomize the same simulated customers; neither is in the other's way, in any order, nor the second time."""
    _run_in_turn_and_again(checkout, names)


@pytest.mark.slow
@pytest.mark.usefixtures("real_tables")
@pytest.mark.parametrize("backwards", [False, True], ids=["in-order", "backwards"])
def test_all_recipes_run_in_one_checkout_in_any_order_and_again(checkout: Path, *, backwards: bool) -> None:
    """No recipe stops another one, and each can be run a second time; the published preset gets fewer trees here."""
    for name in ("adult-paper", "adult-rfka", "bank-rfka"):
        path = checkout / f"{name}.toml"
        path.write_text(path.read_text(encoding="utf-8").replace("[parameters]", "[parameters]\ntrees = 20"), "utf-8")
    _run_in_turn_and_again(checkout, sorted((path.stem for path in RECIPES), reverse=backwards))


def test_every_recipe_has_its_own_folder_and_dataset() -> None:
    """The charges of a recipe are on no other recipe's people, wherever the ledger is."""
    recipes = {path.stem: Recipe.load(path) for path in RECIPES}
    for name, recipe in recipes.items():
        assert recipe.output.place is not None
        assert recipe.output.place.folder == RECIPES[0].parent / "out" / name
        assert (recipe.account.dataset or recipe.policy.dataset) == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metod = 'rfka'", "did you mean 'method'"),
        ("method = 'rfka'\noutput = 'x.parquet'", "either input or simulate"),
        ("method = 'rfka'\ninput = 'a.csv'\nsimulate = {}\noutput = 'x.parquet'", "either input or simulate"),
        ("method = 3\ninput = 'a.csv'\noutput = 'x.parquet'", "method must be a text"),
        ("method = 'rfka'\nsimulate = { row = 3 }\noutput = 'x.parquet'", "did you mean 'rows'"),
        ("method = 'rfka'\nsimulate = 3\noutput = 'x.parquet'", "simulate must be a table"),
        ("method = 'rfka'\nsimulate = { table = 'trips', rows = 3 }\noutput = 'x.parquet'", "unknown key 'rows'"),
        ("method = 'rfka'\nsimulate = { rows = true }\noutput = 'x.parquet'", "simulate needs whole numbers"),
        ("method = 'rr'\ninput = 'a.csv'\noutput = 'x.parquet'\nspark = { mastr = 'x' }", "spark must be a table"),
        ("method = 'rr'\ninput = 'a.csv'\noutput = 'x.parquet'\npart_rows = 0", "part_rows must be a whole number"),
        ("method = 'rr'\ninput = 'a.csv'\noutput = 'x.parquet'\nsearch_rows = true", "search_rows must be a whole"),
        ("method = 'rr'\ninput = 'a.csv'\noutput = 'x.parquet'\ndataset = 3", "dataset must be a text"),
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


@pytest.mark.slow
def test_bounds_of_rows_are_heeded(tmp_path: Path) -> None:
    """A sample is searched, and the data are a folder."""
    path = tmp_path / "recipe.toml"
    path.write_text(
        "method = 'mondrian'\nsimulate = { rows = 300 }\noutput = 'x.parquet'\nsearch_rows = 200\npart_rows = 100\n"
    )
    release = Recipe.load(path).run(account=Account(ledger=None))
    assert release.report["search"]["sample"]["rows"] == 200
    assert len(list((tmp_path / "x.parquet").iterdir())) == 3


def test_a_simulated_table_is_named_and_brings_its_policy(tmp_path: Path) -> None:
    """Its rows are those of the name and the number of people; a policy of the recipe goes before its own."""
    path = tmp_path / "recipe.toml"
    head = 'method = "mondrian"\noutput = "x.parquet"\nsimulate = { table = "respondents", people = 7, seed = 2 }\n'
    path.write_text(head, encoding="utf-8")
    recipe = Recipe.load(path)
    assert recipe.source == survey_respondents(7, 2)
    assert recipe.policy.sensitive == ("income", "health")
    path.write_text(head + 'policy = { dataset = "other" }\n', encoding="utf-8")
    assert Recipe.load(path).policy == Policy(dataset="other")
    path.write_text(head.replace("respondents", "trips"), encoding="utf-8")
    assert Recipe.load(path).policy == Policy()
    path.write_text(head.replace("respondents", "respondent"), encoding="utf-8")
    with pytest.raises(ParameterError, match="'respondent' is simulated"):
        Recipe.load(path)


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


def test_every_recipe_that_ships_is_tested() -> None:
    """The folder of recipes is the one that ships."""
    assert len(RECIPES) > 5


def test_what_a_recipe_says_becomes_the_values_of_the_release(tmp_path: Path) -> None:
    """Engine, output and account are those that the same options make; paths are relative to the recipe."""
    path = tmp_path / "recipe.toml"
    path.write_text(
        'method = "mondrian"\nsimulate = { rows = 60 }\noutput = "out/"\nengine = "spark"\n'
        'spark = { master = "local[2]" }\nsearch_rows = 7\npart_rows = 8\nsign = "owner.pem"\naccept_joint_k = 3\n'
        'dataset = "customers"\nutility = false\n'
        "domains_from_data = true\ndomains_min_people = 4\n",
        encoding="utf-8",
    )

    recipe = Recipe.load(path)

    assert recipe.engine == Spark(master="local[2]", search_rows=7)
    assert recipe.output == Output.at(f"{tmp_path}/out/", part_rows=8, sign=tmp_path / "owner.pem")
    assert recipe.account == Account(dataset="customers", accept_joint_k=3)
    assert recipe.domains_min_people == 4
    assert not recipe.utility


def test_domains_are_read_from_the_table_only_where_the_recipe_says_true(tmp_path: Path) -> None:
    """Another value is a mistake, not a no."""
    path = tmp_path / "recipe.toml"
    head = 'method = "rr"\nsimulate = { rows = 60 }\noutput = "out.parquet"\n'
    path.write_text(f"{head}domains_min_people = 4\n", encoding="utf-8")
    assert Recipe.load(path).domains_min_people is None
    path.write_text(f"{head}domains_from_data = 1\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="domains_from_data must be true or false"):
        Recipe.load(path)
    path.write_text(f'{head}utility = "no"\n', encoding="utf-8")
    with pytest.raises(PolicyError, match="utility must be true or false"):
        Recipe.load(path)


def test_an_output_in_a_store_is_no_folder_beside_the_recipe(tmp_path: Path) -> None:
    """The address stays what it is; other addresses are refused."""
    path = tmp_path / "monthly.toml"
    text = 'method = "ppnb"\ninput = "in.csv"\noutput = "s3://people/monthly/out.parquet"\n[parameters]\np_keep = 0.5\n'
    path.write_text(text, encoding="utf-8")
    place = Recipe.load(path).output.place
    assert place is not None
    assert place.shown(".parquet") == "s3://people/monthly/out.parquet"
    path.write_text(text.replace("s3:", "gs:"), encoding="utf-8")
    with pytest.raises(ParameterError, match="is an address"):
        Recipe.load(path)
