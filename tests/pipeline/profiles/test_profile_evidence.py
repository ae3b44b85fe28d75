"""Protection and risk in the words of profiles: from the public report alone, with states that can be counted.

Columns of a release as a profile reads them: identifiers, days, ages and places, by cells and by names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.pipeline.profiles.profile_evidence import (
    EvidenceState,
    Item,
    Profile,
    columns_left_out,
    figure,
    is_differentially_private,
    ledger_item,
    listed,
    promise_words,
    recipients_item,
    risk_words,
)
from anonkit.pipeline.profiles.release_profile import release_profile

ROWS = 240


HARBOR = "hipaa-safe-harbor"


SEXES = ["f", "m"] * (ROWS // 2)


def _released(cells: Sequence[Any], name: str = "told", **more: Any) -> anonkit.Release:
    """Return a release that shows a column as it is."""
    table = pa.table({"sex": SEXES, name: list(cells)})
    policy = {"columns": {"sex": {"categories": ["f", "m"]}, name: {"role": "insensitive", "release_as_is": True}}}
    return anonkit.release(table, method="mondrian", k=5, policy=policy, no_target=True, utility=False, **more)


def _state(profile: Profile, letter: str) -> EvidenceState:
    (item,) = [item for item in profile.items if item.requirement.startswith(f"{letter}. ")]
    return item.state


@pytest.mark.quick_cases("F-*", "DE-*", "A-*")
@pytest.mark.parametrize(
    ("letters", "cells"),
    [
        ("F", [f"person{at}@example.org" for at in range(ROWS)]),
        ("DE", [f"+44 20 7946 {at:04d}" for at in range(ROWS)]),
        (
            "A",
            [
                f"{('Anna', 'Maria', 'John', 'Peter')[at % 4]} {('Smith', 'Jones', 'Miller')[at % 3]}"
                for at in range(ROWS)
            ],
        ),
        ("NR", [f"https://example.org/people/{at}" for at in range(ROWS)]),
        ("B", [f"{at} High Street" for at in range(1, ROWS + 1)]),
    ],
)
def test_a_column_that_looks_like_an_identifier_speaks_against_its_kind(letters: str, cells: Sequence[str]) -> None:
    """Against its own kind of Safe Harbor, and not against the other kinds of forms."""
    profile = release_profile(_released(cells), HARBOR)
    assert {letter for letter in "ABDEFG" if _state(profile, letter) is EvidenceState.AGAINST} == set(letters) & set(
        "ABDEFG"
    )
    assert all(_state(profile, letter) is EvidenceState.AGAINST for letter in letters)
    assert not any(cell in json.dumps(profile.to_dict()) for cell in cells)


@pytest.mark.quick_cases("%d.%m.%Y", "%B %Y", "date")
@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d-%b-%y", "%B %Y", "%Y%m%d", "%Y-%m", "%Y-%m-%d %H:%M", "date"]
)
def test_days_and_months_speak_against_item_c_in_every_spelling(form: str) -> None:
    """Also as a typed column; the name says nothing of dates."""
    from datetime import date, timedelta

    days = [date(2019, 1, 9) + timedelta(days=3 * at) for at in range(ROWS)]
    cells = days if form == "date" else [day.strftime(form) for day in days]
    assert _state(release_profile(_released(cells), HARBOR), "C") is EvidenceState.AGAINST


@pytest.mark.parametrize(
    ("name", "cells", "state"),
    [
        ("year", [1950 + at % 40 for at in range(ROWS)], EvidenceState.EVIDENCE),
        ("date_of_birth", [f"spring of {1950 + at % 4}" for at in range(ROWS)], EvidenceState.OPEN),
        ("sector", [f"sector {at % 12}" for at in range(ROWS)], EvidenceState.EVIDENCE),
        ("age", [18 + at % 70 for at in range(ROWS)], EvidenceState.EVIDENCE),
        ("age", [18 + at % 80 for at in range(ROWS)], EvidenceState.AGAINST),
        ("amount", [18 + at % 80 for at in range(ROWS)], EvidenceState.EVIDENCE),
    ],
)
def test_years_and_ages_up_to_ninety_may_stay(name: str, cells: Sequence[Any], state: EvidenceState) -> None:
    """A column that has the name of a time, and cells of no known form, is for a person to look at."""
    assert _state(release_profile(_released(cells, name), HARBOR), "C") is state


@pytest.mark.parametrize(
    ("name", "cells", "state"),
    [
        ("zip", [f"{10000 + at % 9}" for at in range(ROWS)], EvidenceState.AGAINST),
        ("zip", [f"{100 + at % 9}" for at in range(ROWS)], EvidenceState.OPEN),
        ("city", ["Paris", "London", "Berlin", "Madrid"] * (ROWS // 4), EvidenceState.OPEN),
        ("colour", ["red", "blue", "green", "black"] * (ROWS // 4), EvidenceState.EVIDENCE),
    ],
)
def test_places_are_open_and_long_codes_are_against(name: str, cells: Sequence[str], state: EvidenceState) -> None:
    """Three digits of a postal code may stay where enough people live, which the files cannot show."""
    assert _state(release_profile(_released(cells, name), HARBOR), "B") is state


def test_labels_are_read_by_their_bounds(tmp_path: Path) -> None:
    """Of ages in groups those that are shown count: a group from 90 on that is closed distinguishes the oldest."""
    ages = [18 + (at * 7) % 82 for at in range(ROWS)]
    policy = {"columns": {"age": {"bounds": [0, 100], "ladder": [5]}, "sex": {"categories": ["f", "m"]}}}
    table = pa.table({"age": ages, "sex": SEXES})
    whole, fine = (
        anonkit.release(
            table,
            method="mondrian",
            k=k,
            policy=policy,
            no_target=True,
            utility=False,
            output=tmp_path / f"{k}.parquet",
            ledger=None,
        )
        for k in (20, 2)
    )
    assert _state(release_profile(tmp_path / "20.parquet", HARBOR), "C") is EvidenceState.EVIDENCE
    assert _state(release_profile(fine, HARBOR), "C") is EvidenceState.AGAINST
    assert whole.report["method"] == {**fine.report["method"], "parameters": whole.report["method"]["parameters"]}


@pytest.mark.parametrize(
    ("cells", "width", "oldest", "state"),
    [
        ("bounds", 30, (92, 96), EvidenceState.EVIDENCE),
        ("bounds", 5, (91, 96), EvidenceState.AGAINST),
        ("bounds", 10, (81, 85), EvidenceState.EVIDENCE),
        ("means", 30, (92, 96), EvidenceState.OPEN),
        ("means", 30, (81, 85), EvidenceState.EVIDENCE),
        ("means", 5, (91, 96), EvidenceState.AGAINST),
    ],
)
def test_ends_and_means_of_ages_are_read_as_the_interval_they_belong_to(
    cells: str, width: int, oldest: tuple[int, int], state: EvidenceState
) -> None:
    """The end of the group of the oldest is no age of anybody; one mean above 90 is for a person to look at."""
    ages = [(22, 47, *oldest)[at % 4] + at % 3 for at in range(ROWS)]
    release = _grouped(ages, width, cells)
    assert {"age_low", "age_high"} <= set(release.to_arrow().column_names)
    assert _state(release_profile(release, HARBOR), "C") is state


def test_two_means_of_the_oldest_are_two_categories() -> None:
    """Safe Harbor allows one; here women and men of 90 and more show different means of the same interval."""
    ages = [20 + at % 3 if at % 4 < 2 else 91 + at % 3 + 4 * (at % 2) for at in range(ROWS)]
    release = _grouped(ages, 30, "means", role="quasi_identifier", keep=True)
    assert len({mean for mean in release.to_arrow().column("age_mean").to_pylist() if mean > 90}) == 2
    assert _state(release_profile(release, HARBOR), "C") is EvidenceState.AGAINST


def _grouped(ages: Sequence[int], width: int, cells: str, **of_sex: Any) -> anonkit.Release:
    """Return a release of ages in groups of a width."""
    sex = of_sex or {"role": "insensitive", "release_as_is": True}
    return anonkit.release(
        pa.table({"age": list(ages), "sex": SEXES}),
        method="datafly",
        k=25,
        policy={
            "columns": {
                "age": {"bounds": [0, 100], "ladder": [width], "keep": True},
                "sex": {**sex, "categories": ["f", "m"]},
            }
        },
        no_target=True,
        utility=False,
        cells=cells,
    )


COUNTED: dict[str, Any] = {
    "budget": {"epsilon": None},
    "guarantee": {"unit": "one row", "parameters": {"k": 5}},
    "disclosure_risk": {"prosecutor": {"max": 0.2, "mean": 0.1}},
    "columns": [{"name": "id", "role": "identifier", "action": "dropped"}, {"name": "age", "action": "generalized"}],
    "ledger": {"booked": True, "release_of_dataset": 2},
    "recipients": ["the ministry"],
}
NOISY: dict[str, Any] = {
    "budget": {"epsilon": 1.0, "delta": 1e-6},
    "guarantee": {"unit": "one row", "parameters": {}},
    "columns": [],
}


def test_the_promise_has_its_figure_and_its_unit() -> None:
    """k, or epsilon with delta; and what each means for a person."""
    assert promise_words(COUNTED) == "k-anonymity with k = 5, for one row."
    assert promise_words(NOISY) == "Differential privacy with epsilon 1, delta 1e-06, for one row."
    assert "1 in 5 at most, on average 1 in 10" in risk_words(COUNTED)
    assert "more than 2.72 times as likely" in risk_words(NOISY)
    assert is_differentially_private(NOISY)
    assert not is_differentially_private(COUNTED)


def test_what_is_not_in_the_report_is_open() -> None:
    """Recipients and a ledger: shown where they are declared and booked."""
    for item in (recipients_item, ledger_item):
        assert item(COUNTED, "r").state is EvidenceState.EVIDENCE
        assert item(NOISY, "r").state is EvidenceState.OPEN
    assert figure(COUNTED, "ledger", "absent", "deeper") is None


def test_names_are_cut_where_they_are_many() -> None:
    """With the number of the others."""
    assert listed("abc", most=2) == "'a', 'b' and 1 more"
    assert columns_left_out(COUNTED) == "; 'id' of the source was left out"
    assert columns_left_out(NOISY) == ""


def test_states_are_counted_as_json() -> None:
    """Each as often as it occurs."""
    profile = Profile(
        name="p", title="t", source="s", items=[Item.shown("a", "x"), Item.open("b", "y"), Item.against("c", "z")]
    )
    document = profile.to_dict()
    assert document["counts"] == {"evidence": 1, "open": 1, "against": 1}
    assert [item["state"] for item in document["items"]] == ["evidence", "open", "against"]
