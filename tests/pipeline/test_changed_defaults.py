"""`run --check`: what recipes of 0.1 do otherwise under 0.2, by the rows of the page, with nothing run or opened."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from anonkit.pipeline.changed_defaults import ROWS, changes_of
from anonkit.pipeline.recipe import Recipe

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "move-to-0.2.md"
RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
WITHOUT_RECIPE = (
    "exit code 3: two columns of exactly one name",  # of a table that is checked, not released
    "method.parameters.drop_freely is true in the report of rfka",  # the search is as before
    "nothing else",
    "exit code 2: earlier releases of this folder are in another ledger",  # after a release by 0.2 alone
    "apply ends with exit code 2: no ledger knows the release",
    "a key without its ledger is refused",
    "ReleaseFeatures recodes test rows, and no feature is NaN",
    "at a terminal a block *For you only* is shown on stderr",
    "the owner's figures of --owner are on stderr, twelve lines at most",
    "Warning: Column … has cells … on stderr, with -q too, under k-anonymity",
    "a release prints 25 lines at most where nothing must not be overlooked",
    "the terminal prints topics in one order",
    "controls of an audit that were never attacked are null, not 0",
    "validate refuses a release of version 0.1, and names that version",
)
"""Rows of the page about other commands, what a terminal shows, receivers and the machine."""

HEAD = 'input = "{table}"\noutput = "out.parquet"\n'
MONDRIAN = 'method = "mondrian"\n'
RR = 'method = "rr"\ndataset = "people"\nparameters = {{ epsilon = 1 }}\n'
CASES: dict[str, tuple[str, str, str]] = {
    "the release has no target; a note says that none was guessed": (
        MONDRIAN + HEAD,
        "",
        '[policy.columns]\nx = { role = "target" }',
    ),
    "exit code 2 of a method that needs a target": (
        'method = "ppnb"\nparameters = {{ epsilon = 1 }}\n' + HEAD,
        "",
        '[policy.columns]\nx = { role = "target" }',
    ),
    "exit code 2: the guess is not the target of the last release": (
        'dataset = "people"\n' + MONDRIAN + HEAD,
        "",
        "[policy]\ntarget = false",
    ),
    "exit code 1: a column has the form of identifiers, or numbers the rows": (
        MONDRIAN + HEAD,
        '[policy.columns]\nx = { role = "insensitive" }',
        '[policy.columns]\nx = { role = "insensitive", release_as_is = true }',
    ),
    "coarser groups; the report lists guarantee.parameters.candidates": (
        MONDRIAN + HEAD,
        "",
        '[policy]\nunit = "none"',
    ),
    "exit code 2 that names candidates": (MONDRIAN + HEAD, "", '[policy.columns]\nx = { role = "unit" }'),
    "a column is left out as a key by structure": (MONDRIAN + HEAD, "", '[policy]\nunit = "none"'),
    "coarser groups where a column is sensitive and has no other requirement": (
        MONDRIAN + HEAD,
        '[policy.columns]\nx = { role = "sensitive" }',
        '[policy.columns]\nx = { role = "sensitive", alpha = 1 }',
    ),
    "l, t and α come out smaller": (
        MONDRIAN + HEAD,
        '[policy.columns]\nx = { role = "sensitive" }',
        '[policy.columns]\nx = { role = "sensitive", categories = ["a", "NA"] }',
    ),
    "l of a measured number comes out smaller": (
        MONDRIAN + HEAD,
        '[policy.columns]\nx = { role = "sensitive" }',
        '[policy.columns]\nx = { role = "sensitive", tolerance = 0 }',
    ),
    "exit code 2: the first line looks like a record": (MONDRIAN + HEAD, "", "header = true"),
    "exit code 1: more than 5 % of a column's cells outside its declared bounds, categories or form, "
    "under k-anonymity": (
        MONDRIAN + HEAD,
        "[policy.columns]\nx = { bounds = [0, 9] }",
        "[policy.columns]\nx = { bounds = [0, 9], accept_outside = 1 }",
    ),
    "rfka, mondrian, greedy-hamdist choose other detail": (
        MONDRIAN + HEAD,
        '[policy.columns]\nx = { role = "target" }',
        "parameters = {{ all_labels = true }}",
    ),
    "rfka shows boxes, each of its own size, with k of 40 or more": (
        'method = "rfka"\n' + HEAD,
        "parameters = {{ k = 40 }}",
        "parameters = {{ k = 40, boxes = false }}",
    ),
    "prediction_of_target is lower, or not measured": (MONDRIAN + HEAD, "", "utility = false"),
    "releases are booked in your own ledger, no longer beside the output": (
        MONDRIAN + HEAD,
        "",
        '[policy]\nledger = "l.sqlite"',
    ),
    '"looks like dataset …"': (
        MONDRIAN + HEAD,
        '[policy.columns]\nx = { role = "unit" }',
        'dataset = "people"\n[policy.columns]\nx = { role = "unit" }',
    ),
    "the stated ε of a shuffled release above 10,000 rows is slightly larger": (
        'method = "rr"\n' + HEAD,
        "parameters = {{ epsilon = 1 }}",
        "parameters = {{ epsilon = 1, shuffle_delta = 1e-6 }}",
    ),
    "a 25th of ε goes to spikes of … in the account of dp-marginals, dp-forest, dp-tree and dp-nb": (
        'method = "dp-marginals"\n' + HEAD,
        "parameters = {{ epsilon = 1 }}\n[policy.columns]\nx = {{ bounds = [0, 99], step = 1 }}",
        'parameters = {{ epsilon = 1, spikes = "declared" }}\n[policy.columns]\nx = {{ bounds = [0, 99], step = 1 }}',
    ),
}
"""Row of the page: a recipe, what it says when it meets the row, and what it says after the row is heeded."""


def _plain(cell: str) -> str:
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").strip()


def _seen(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "recipe.toml"
    path.write_text(text.replace("{{", "{").replace("}}", "}").replace("{table}", "absent.csv"), encoding="utf-8")
    return {change.seen: change for change in changes_of(Recipe.load(path))}


def test_the_rows_are_those_of_the_page() -> None:
    """Every row of the page is in a recipe, or is one that cannot be; in the page's order."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    page = [_plain(line.split(" | ")[0].removeprefix("| ")) for line in lines]
    rows = [cell for cell in page if cell not in ("you see", "---")]
    assert [cell for cell in rows if cell not in WITHOUT_RECIPE] == [row.seen for row in ROWS]
    assert set(WITHOUT_RECIPE) <= set(rows)


@pytest.mark.parametrize("seen", CASES, ids=lambda seen: seen[:40])
def test_the_line_that_restores_it_settles_a_row(tmp_path: Path, seen: str) -> None:
    """The recipe meets the row; with the line of the page it does not."""
    head, before, after = CASES[seen]
    assert seen in _seen(tmp_path, f"{head}{before}\n")
    assert seen not in _seen(tmp_path, f"{head}{after}\n")


def test_what_the_recipe_alone_decides_is_certain(tmp_path: Path) -> None:
    """A cap on confidence comes by default whatever the cells are; all other rows rest on cells or ledgers."""
    seen = _seen(
        tmp_path, MONDRIAN + HEAD + '[policy.columns]\nx = { role = "sensitive" }\ny = { role = "sensitive", l = 2 }\n'
    )
    certain = [change for change in seen.values() if change.is_certain]
    assert [(change.seen, change.columns) for change in certain] == [
        ("coarser groups where a column is sensitive and has no other requirement", ("x",))
    ]
    asked = 'parameters = { l = 2 }\n[policy.columns]\nx = { role = "sensitive" }\n'
    assert not any(change.is_certain for change in _seen(tmp_path, MONDRIAN + HEAD + asked).values())


def test_rows_of_noise_and_of_tables_with_types(tmp_path: Path) -> None:
    """Under noise no default that looks at cells is named; a table with types may have floats that are units."""
    text = (
        RR
        + HEAD.replace("{table}", "absent.parquet")
        + "[policy.columns]\nx = { bounds = [0, 1e16] }\ny = { bounds = [0, 9] }\n"
    )
    seen = _seen(tmp_path, text)
    assert seen["exit code 1 of a float column under noise"].columns == ("x",)
    assert {
        "ledger.epsilon_of_all_releases is gone from the report",
        "a budget of an older ledger is refused once",
    } <= {*seen}
    assert "more columns are left out as identifiers" not in seen
    assert "more columns are left out as identifiers" in _seen(tmp_path, "domains_from_data = true\n" + text)


@pytest.mark.parametrize(
    ("more", "seen"),
    [
        ("", {"detail", "figure"}),
        ('preset = "paper"', {"figure"}),
        ('[policy.columns]\nx = { role = "unit" }', {"figure"}),
        ("[policy]\ntarget = false", set()),
    ],
    ids=["rows", "paper", "people", "no target"],
)
def test_rows_of_hidden_labels(tmp_path: Path, more: str, seen: set[str]) -> None:
    """Labels are hidden where rows are counted and the method does not see all; else only the figure is another."""
    rows = {
        "detail": "rfka, mondrian, greedy-hamdist choose other detail",
        "figure": "prediction_of_target is lower, or not measured",
    }
    found = _seen(tmp_path, f'method = "rfka"\n{HEAD}{more}\n')
    assert {name for name, row in rows.items() if row in found} == seen
    found = _seen(tmp_path, f'method = "datafly"\n{HEAD}')
    assert {name for name, row in rows.items() if row in found} == {"figure"}


def test_nothing_is_run_opened_or_booked(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absent tables do no harm, no file comes, and a recipe that cannot be read is exit code 3 beside the others."""
    home = tmp_path / "home"
    monkeypatch.setenv("ANONKIT_LEDGER", str(home / "ledger.sqlite"))
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text(
        MONDRIAN + 'input = "postgresql://owner@host.invalid/db?table=t"\noutput = "a/out.parquet"\n', encoding="utf-8"
    )
    second.write_text('[experiment]\nname = "x"\n', encoding="utf-8")
    ran = cli("run", "--check", first, second, "--json")
    assert ran.code == 0, ran.err
    assert [entry["method"] for entry in ran.document["recipes"]] == ["mondrian", None]
    assert sorted(tmp_path.iterdir()) == [first, second]

    said = cli("run", "--check", first, tmp_path / "none.toml", second)
    assert said.code == 3
    assert "may differ: the release has no target" in said.out
    assert "none.toml" in said.err
    assert "cannot be read" in said.out
    assert "it makes no release" in said.out
    assert sorted(tmp_path.iterdir()) == [first, second]


@pytest.mark.parametrize("options", [("--force",), ("--ledger", "x.sqlite"), ("--output", "o.parquet"), ("--owner",)])
def test_options_of_a_run_are_refused(cli: Any, tmp_path: Path, options: tuple[str, ...]) -> None:
    """They would say that something is made; and a run takes one recipe."""
    recipe = tmp_path / "a.toml"
    recipe.write_text(MONDRIAN + HEAD, encoding="utf-8")
    assert cli("run", "--check", recipe, *options).code == 2
    assert cli("run", recipe, recipe).code == 2


def test_every_recipe_that_ships_is_read(cli: Any) -> None:
    """Real tables are not needed for it; simulated people have a ledger of their own as before."""
    ran = cli("run", "--check", *RECIPES, "--json")
    assert ran.code == 0, ran.err
    for entry, path in zip(ran.document["recipes"], RECIPES, strict=True):
        booked = "releases are booked in your own ledger, no longer beside the output"
        is_simulated = Recipe.load(path).simulate is not None
        assert (booked in {change["seen"] for change in entry["changes"]}) != is_simulated
