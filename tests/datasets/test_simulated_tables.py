"""Simulated patients and visits: the tables join, and more patients change no patient and no visit.

Simulated trips of bicycles: times, places, and riders.

Simulated respondents of a survey: weights and missing answers.

The simulated tables by name: the same rows for one seed, within what their policies declare, and as files.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.datasets import bicycle_riders, bicycle_trips, simulated_table, simulation, survey_respondents
from anonkit.datasets.__main__ import main
from anonkit.datasets.simulated_tables import SIMULATIONS, hospital_patients, hospital_visits
from anonkit.errors import ParameterError
from anonkit.policy.declaration import Policy


def test_trips_belong_to_riders_and_stay_in_the_city() -> None:
    """Every rider has 1 to 20 trips; coordinates are within the box, times within the day, days within the spring."""
    riders, trips = bicycle_riders(400, 5), bicycle_trips(400, 5)

    number = trips.group_by("rider").aggregate([([], "count_all")])
    assert set(number["rider"].to_pylist()) == set(riders["rider_id"].to_pylist())
    assert 1 <= pc.min(number["count_all"]).as_py() < pc.max(number["count_all"]).as_py() <= 20
    for name, low, high in (
        *((f"{end}_lat", 51.91, 52.09) for end in ("start", "end")),
        *((f"{end}_lon", 9.856, 10.144) for end in ("start", "end")),
        ("minutes", 2, 90),
    ):
        assert low <= pc.min(trips[name]).as_py() < pc.max(trips[name]).as_py() <= high, name
    assert str(pc.min(trips["day"])) >= "2025-03-03"
    assert str(pc.max(trips["day"])) <= "2025-06-01"
    assert str(pc.min(trips["clock"])) >= "06:00:00"
    assert str(pc.max(trips["clock"])) < "23:00:00"


def test_a_home_is_identified_by_two_trips_of_a_rider() -> None:
    """Starts of morning trips of one rider lie within 500 metres: what makes trips a risk is in the simulation."""
    trips = bicycle_trips(300, 1).to_pandas()
    early = trips[trips["clock"].astype(str) < "08:30:00"]
    spread = early.groupby("rider")["start_lat"].agg(["std", "size"])
    assert (spread[spread["size"] > 3]["std"] * 111 < 0.5).mean() > 0.3


def test_the_weight_of_a_respondent_discloses_region_and_age() -> None:
    """One weight represents one region and one of three age groups: so it counts as a quasi-identifier."""
    frame = survey_respondents(5_000, 2).to_pandas()
    frame["region"] = frame["municipality"].str[:-3]
    assert frame.groupby("weight")["region"].nunique().max() == 1
    assert frame.groupby("weight")["age"].agg(lambda ages: ages.max() - ages.min()).max() <= 34


def test_answers_are_missing_as_described() -> None:
    """Occupation of those who are not employed, some education and health, one income in eight."""
    frame = survey_respondents(20_000, 0).to_pandas()
    assert (frame["occupation"].isna() == (frame["activity"] != "employed")).all()
    assert 0.03 < frame["education"].isna().mean() < 0.05
    assert 0.01 < frame["health"].isna().mean() < 0.03
    assert 0.1 < frame["income"].isna().mean() < 0.15


PEOPLE = {
    "customers": "customer_id",
    "patients": "patient_id",
    "visits": "patient",
    "respondents": "respondent_id",
    "riders": "rider_id",
    "trips": "rider",
}
"""The column that says whose a row is."""
FIRST_RESPONDENT = {
    "respondent_id": "R0000000",
    "municipality": "islands 01",
    "age": 41,
    "sex": "m",
    "household_size": 3,
    "born_in": "this country",
    "education": "vocational",
    "activity": "employed",
    "occupation": "technical",
    "income": None,
    "health": "fair",
    "makes_ends_meet": "with some difficulty",
    "weight": 170,
}


def _command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.mark.parametrize("name", SIMULATIONS)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**64), n=st.integers(0, 60), more=st.integers(0, 60))
def test_fewer_people_are_the_first_of_more_people(name: str, seed: int, n: int, more: int) -> None:
    """A person's rows are the same whatever the number of people."""
    longer, shorter = simulated_table(name, n + more, seed), simulated_table(name, n, seed)

    assert longer.slice(0, shorter.num_rows).equals(shorter)
    assert shorter.schema == longer.schema
    assert len(set(longer[PEOPLE[name]].to_pylist())) <= n + more


@pytest.mark.parametrize("name", [name for name, each in SIMULATIONS.items() if each.policy])
def test_cells_are_within_the_declared_domains_and_every_category_occurs(name: str) -> None:
    """The policy covers every column; bounds, categories and trees hold for all rows."""
    table, declared = simulated_table(name, 20_000, 3), simulation(name).policy
    assert declared is not None
    policy = Policy.from_dict(tomllib.loads(declared()))

    assert set(policy.columns) == set(table.column_names)
    for column in policy.columns.values():
        cells = table[column.name].drop_null()
        if column.bounds is not None:
            low, high = column.bounds
            assert low <= pc.min(cells).as_py() <= pc.max(cells).as_py() <= high
        elif column.categories is not None:
            assert set(cells.unique().to_pylist()) == set(column.categories)
        elif column.tree is not None:
            assert set(cells.unique().to_pylist()) == {path[0] for path in column.tree}


def test_the_respondents_of_a_seed_stay_what_they_are() -> None:
    """The first respondent of seed 0 is pinned: figures on pages stay reproducible."""
    assert survey_respondents(1, 0).to_pylist() == [FIRST_RESPONDENT]


def test_the_command_writes_the_table_and_its_policy(tmp_path: Path) -> None:
    """The CSV holds the rows of the function, the policy can be read; files that are there are left alone."""
    words = ("respondents", "survey.csv", "--people", "30", "--seed", "4", "--policy", "p.toml")
    done = subprocess.run(
        [sys.executable, "-m", "anonkit.datasets", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "survey.csv: 30 rows, 13 columns\n"), done.stderr
    out = tmp_path / "survey.csv"
    kinds = pacsv.ConvertOptions(
        column_types=survey_respondents(1).schema, strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    assert pacsv.read_csv(out, convert_options=kinds).combine_chunks() == survey_respondents(30, 4).combine_chunks()
    assert Policy.load(tmp_path / "p.toml").dataset == "household-survey"
    again = _command("respondents", str(out), "--people", "5")
    assert (again.exit_code, "survey.csv' exists" in again.output) == (2, True)
    assert out.read_text().count("\n") == 31
    assert _command("respondents", str(out), "--people", "5", "--force").exit_code == 0
    assert out.read_text().count("\n") == 6


def test_the_command_says_what_there_is(tmp_path: Path) -> None:
    """Every table is in the help; a table that is released joined has no policy; no folder, no traceback."""
    shown = _command("--help").output
    assert all(f"{name} " in shown and each.summary in shown for name, each in SIMULATIONS.items())
    refused = _command("visits", str(tmp_path / "v.csv"), "--policy", str(tmp_path / "p.toml"))
    assert (refused.exit_code, "recipes" in refused.output) == (2, True)
    assert not list(tmp_path.iterdir())
    lost = _command("visits", str(tmp_path / "none" / "v.csv"), "--people", "3")
    assert isinstance(lost.exception, SystemExit)
    assert lost.exit_code == 1


def test_an_unknown_table_is_refused_with_the_closest_name() -> None:
    """So is a negative number of people."""
    with pytest.raises(ParameterError, match="'trip' is simulated") as caught:
        simulated_table("trip", 3, 0)
    assert caught.value.hint == "did you mean 'trips'?"
    with pytest.raises(ParameterError, match="-1"):
        simulated_table("trips", -1, 0)


def test_tables_hold_plain_columns() -> None:
    """Texts, integers, coordinates, days and times: what a CSV of an owner holds."""
    kinds = {field.type for name in SIMULATIONS for field in simulated_table(name, 3, 0).schema}
    assert kinds == {pa.string(), pa.int64(), pa.float64(), pa.date32(), pa.time32("s")}


def test_visits_are_of_the_patients() -> None:
    """A third have none, nobody more than twelve, and older patients more."""
    patients, visits = hospital_patients(3_000, seed=3), hospital_visits(3_000, seed=3)
    identifiers = patients.column("patient_id").to_pylist()
    assert len(set(identifiers)) == 3_000
    counts = dict.fromkeys(identifiers, 0)
    for patient in visits.column("patient").to_pylist():
        counts[patient] += 1
    number = np.array(list(counts.values()))
    assert abs((number == 0).mean() - 1 / 3) < 0.03
    assert number.max() <= 12
    age = np.array(patients.column("age"))
    assert number[age > 70].mean() > number[age < 40].mean()
    assert pc.min_max(visits.column("month")).as_py() == {"min": 1, "max": 12}
    assert set(visits.column("readmitted").to_pylist()) == {"yes", "no"}


def test_more_patients_change_none() -> None:
    """The first hundred and their visits are the same in any larger population, and others under another seed."""
    few, many = hospital_patients(100, seed=1), hospital_patients(500, seed=1)
    assert many.slice(0, 100).equals(few)
    visits = hospital_visits(100, seed=1)
    assert hospital_visits(500, seed=1).slice(0, visits.num_rows).equals(visits)
    assert not hospital_patients(100, seed=2).equals(few)
