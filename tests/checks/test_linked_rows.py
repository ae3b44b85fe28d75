"""Rows of several tables with surrogates, and dates as days since the first row of their person."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks.forgeries import Edit, Files, forged
from checks.forging import at, stated_anew

import anonkit
from anonkit.bundle.private_files import PrivateFolder
from anonkit.engines.engine_choice import Local
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import AnonkitError, PolicyError, ReleaseFormatError
from anonkit.pipeline.derived_columns import numbered
from anonkit.pipeline.recipe import Recipe
from anonkit.pipeline.recipe_sources import SeveralTables, flat_view
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

RECIPE = """
method = "mondrian"
output = "out.parquet"
{head}
[tables.people]
source = "people.csv"
key = "person_id"
surrogate = {surrogate}
[tables.visits]
source = "visits.csv"
of = "people"
key = "patient"
{visits}
[policy.columns]
readmitted = {{ role = "target" }}
born = {{ role = "identifier" }}
when = {{ {when} }}
[parameters]
{end}
"""
WHEN = 'role = "quasi_identifier", type = "date", format = "%d.%m.%Y", relative = true, keep = true'
SLOTS = {"head": "", "surrogate": "true", "visits": "", "when": WHEN, "end": "k = 4"}


def made(folder: Path, n_people: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write people, and one to three visits of each on different days."""
    draw = np.random.default_rng(5)
    people = pd.DataFrame(
        {
            "person_id": [f"p{at}" for at in range(n_people)],
            "sex": draw.choice(["f", "m"], n_people),
            "born": [f"{draw.integers(1, 28)}.{draw.integers(1, 12)}.1970" for _ in range(n_people)],
        }
    )
    whose = np.repeat(np.arange(n_people), draw.choice([1, 2, 3], n_people))
    gaps = draw.choice([0, 7, 30], whose.size)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 365, n_people)[whose] + gaps, unit="D")
    visits = pd.DataFrame(
        {
            "patient": people["person_id"].to_numpy()[whose],
            "when": days.strftime("%d.%m.%Y"),
            "readmitted": draw.choice(["yes", "no"], whose.size),
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    visits.to_csv(folder / "visits.csv", index=False)
    return people, visits


def recipe(folder: Path, **slots: str) -> Recipe:
    """Write and load the recipe, some of its lines replaced."""
    path = folder / "recipe.toml"
    path.write_text(RECIPE.format(**{**SLOTS, **slots}))
    return Recipe.load(path)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[anonkit.Release, pd.DataFrame, Path]:
    """A release of both, with the visits as they were."""
    folder = tmp_path_factory.mktemp("linked")
    _, visits = made(folder)
    return recipe(folder).run(), visits, folder


def test_the_rows_of_a_surrogate_are_one_persons(released: tuple[anonkit.Release, pd.DataFrame, Path]) -> None:
    """As many rows each as people have visits; at least k people show each set, which the files tell."""
    release, visits, folder = released
    rows = release.to_pandas()
    sizes = Counter(rows["surrogate"].value_counts())
    assert sizes == Counter(visits["patient"].value_counts())
    names = [name for name in release.report["guarantee"]["parameters"]["quasi_identifiers"] if name in rows]
    sets: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for number, *row in rows[["surrogate", *names]].astype(str).itertuples(index=False):
        sets[number].append(tuple(row))
    assert min(Counter(tuple(sorted(rows)) for rows in sets.values()).values()) >= 4
    found = anonkit.validate(folder / "out.parquet")
    assert found.passed, [check for check in found.checks if not check.passed]
    assert "k_anonymity_whole_sets" in {check.name for check in found.checks}


def test_days_are_counted_from_the_first_row_of_each_person(tmp_path: Path) -> None:
    """By brute force on the visits; a cell that is missing has no days, and takes part in no first row."""
    _, visits = made(tmp_path)
    visits.loc[::9, "when"] = ""
    visits.to_csv(tmp_path / "visits.csv", index=False)
    asked = recipe(tmp_path)
    with closing(LocalEngine(Local())) as engine, closing(PrivateFolder(tmp_path)) as private:
        assert isinstance(asked.source, SeveralTables)
        view = pq.read_table(flat_view(asked.source, asked.policy, engine, private).path).to_pandas()
    dates = pd.to_datetime(visits["when"], format="%d.%m.%Y")
    days = (dates - dates.groupby(visits["patient"]).transform("min")).dt.days
    keys = [f"x{key.encode().hex()}" for key in visits["patient"]]
    expected = sorted(zip(keys, days.fillna(-1).astype(int), strict=True))
    assert sorted(zip(view["person_id"], view["when"].fillna(-1).astype(int), strict=True)) == expected


def test_the_promise_and_the_page_speak_of_days(released: tuple[anonkit.Release, pd.DataFrame, Path]) -> None:
    """The promise names the columns of days and what days leave."""
    release, _, folder = released
    assert release.report["guarantee"]["parameters"]["relative"] == ["when"]
    assert any("93 to 95 %" in words for words in release.report["guarantee"]["not_protected"])
    assert "93 to 95 %" in (folder / "out.report.html").read_text()


def test_a_number_is_each_member_of_its_set_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """All orders of five people, two and three of whom have one set: a file leaves each of them equally likely."""
    rows = {"a": "xy", "b": "xy", "c": "xx", "d": "xx", "e": "xx"}
    table = pa.table({"unit": [key for key, cells in rows.items() for _ in cells], "cell": [*"".join(rows.values())]})
    orders: dict[frozenset[tuple[int, str]], list[tuple[int, ...]]] = defaultdict(list)
    with closing(LocalEngine(Local())) as engine:
        source = engine.scan(table, Policy())
        for order in permutations(range(5)):
            drawn = Randomness.seeded(1)
            monkeypatch.setattr(Randomness, "permutation", lambda self, n, order=order: np.array(order))
            shown = pa.Table.from_batches(numbered(source, "unit", engine, drawn).batches()).to_pandas()
            assert list(shown.columns) == ["surrogate", "cell"]
            sets = shown.groupby("surrogate")["cell"].agg(lambda cells: "".join(sorted(cells)))
            orders[frozenset(sets.items())].append(order)
    assert {len(alike) for alike in orders.values()} == {2 * 6}
    for file, alike in orders.items():
        for number, cells in file:
            people = Counter("abcde"[order.index(number - 1)] for order in alike)
            members = [key for key, own in rows.items() if own == cells]
            assert people == dict.fromkeys(members, 12 // len(members))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gaps_of_three_random_days_are_rarely_alike(seed: int) -> None:
    """The figure of the promise and of the page."""
    days = np.sort(np.random.default_rng(seed).integers(0, 365, (3000, 3)), axis=1)
    people = Counter(map(tuple, np.diff(days, axis=1).tolist()))
    alone = sum(count == 1 for count in people.values()) / 3000
    assert 0.93 <= alone <= 0.95


@pytest.mark.slow
def test_spark_links_and_counts_alike(spark: Any, tmp_path: Path) -> None:
    """The same numbers of rows and days on the other engine."""
    made(tmp_path, 120)
    release = recipe(tmp_path, head='engine = "spark"').run()
    assert anonkit.validate(tmp_path / "out.parquet").passed
    assert set(release.to_arrow().column_names) >= {"surrogate", "when"}


FORGERIES: dict[str, tuple[Edit, set[str]]] = {
    "dates in the promise that are none": (
        stated_anew(at("report", "guarantee", "parameters", "relative", to=[])),
        {"roles"},
    ),
    "another column of days": (
        stated_anew(at("report", "guarantee", "parameters", "relative", to=["sex"])),
        {"roles"},
    ),
    "no word in the params": (lambda files: files.params["columns"][3].pop("relative"), {"roles"}),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_days_are_refused(
    released: tuple[anonkit.Release, pd.DataFrame, Path], forgery: str, tmp_path: Path
) -> None:
    """Promise and params name the same columns."""
    edit, names = FORGERIES[forgery]
    files = Files.read(released[2] / "out.parquet")
    assert [column["name"] for column in files.params["columns"]][3] == "when"
    found = anonkit.validate(forged(files, edit, tmp_path))
    assert names <= {check.name for check in found.checks if not check.passed}


def test_a_batch_has_other_first_rows(released: tuple[anonkit.Release, pd.DataFrame, Path], tmp_path: Path) -> None:
    """`apply` says so before it reads a row."""
    with pytest.raises(ReleaseFormatError, match="other first rows"):
        anonkit.apply(released[2] / "out.parquet", pq.read_table(released[2] / "out.parquet"), ledger=None)


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        ({"head": "whole_person = false"}, "links the rows of a person"),
        ({"head": "whole_person = false", "surrogate": "false"}, "k has to hold for all rows"),
        ({"surrogate": "1"}, "surrogate"),
        ({"visits": "surrogate = true"}, "is for the table of people"),
        ({"when": 'role = "quasi_identifier", relative = true'}, "is for dates and moments"),
        ({"when": 'role = "insensitive", type = "date", relative = true'}, "anyone who knows the dates"),
        ({"when": 'type = "date", levels = ["month"], relative = true'}, "have no"),
        ({"when": 'type = "date", format = "%Y/%m/%d", relative = true'}, "when"),
        ({"visits": "", "when": WHEN.replace("format", "zone")}, "zone"),
    ],
)
def test_what_would_promise_nothing_is_refused(slots: dict[str, str], words: str, tmp_path: Path) -> None:
    """With the column or the table, and no cell."""
    made(tmp_path, 40)
    with pytest.raises(AnonkitError, match=words) as refused:
        recipe(tmp_path, **slots).run()
    assert "2024" not in str(refused.value)
    assert not (tmp_path / "out.parquet").exists()


def test_days_of_people_are_refused(tmp_path: Path) -> None:
    """A table with one row a person has no first row; nor has one table without people."""
    _, visits = made(tmp_path, 40)
    text = RECIPE.format(**SLOTS).replace('born = { role = "identifier" }', f"born = {{ {WHEN} }}")
    (tmp_path / "recipe.toml").write_text(text)
    with pytest.raises(PolicyError, match="one row a person"):
        Recipe.load(tmp_path / "recipe.toml").run()
    days = {"role": "quasi_identifier", "type": "date", "format": "%d.%m.%Y", "relative": True}
    policy = {"columns": {"when": days, "patient": {"role": "unit"}, "readmitted": {"role": "target"}}}
    for run in (anonkit.release, anonkit.risk):
        how: dict[str, Any] = {"method": "mondrian", "ledger": None} if run is anonkit.release else {}
        with pytest.raises(PolicyError, match="k has to hold for all rows of a person"):
            run(visits, policy=policy, **how)


def test_under_noise_nothing_is_linked(tmp_path: Path) -> None:
    """No row is that of a person; days since the first row are refused with it."""
    made(tmp_path, 40)
    sex = '\nsex = { role = "quasi_identifier", categories = ["f", "m"] }'
    noisy = {"visits": 'orphans = "drop"', "end": "epsilon = 1\n", "head": "rows_per_person = 2"}
    for slots, words in (
        ({"when": 'role = "identifier"'}, "no row"),
        ({"surrogate": "false", "when": f"{WHEN}, bounds = [0, 400]"}, "for k-"),
    ):
        text = (
            RECIPE.format(**{**SLOTS, **noisy, **slots})
            .replace('"mondrian"', '"dp-nb"')
            .replace('"target" }', f'"target", categories = ["yes", "no"] }}{sex}')
        )
        (tmp_path / "recipe.toml").write_text(text)
        with pytest.raises(PolicyError, match=words):
            Recipe.load(tmp_path / "recipe.toml").run()
