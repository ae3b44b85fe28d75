"""Topics of columns: demography, places and secrets by header words and published lists; class labels are none."""

from __future__ import annotations

import pytest

from anonkit.drafting.identifying.topic_words import describes_person, is_demographic, is_place, looks_like_secret

LABELS = [
    ("income", ["<=50K", ">50K"]),
    ("class", ["unacc", "acc", "good", "vgood"]),
    ("class", ["2", "4"]),
    ("y", ["yes", "no"]),
    ("churn", ["0", "1"]),
    ("default", ["0", "1"]),
    ("default payment next month", ["0", "1"]),
    ("credit_risk", ["good", "bad"]),
    ("target", ["0", "1"]),
    ("community", ["a", "b"]),
    ("stage", ["1", "2"]),
    ("colour", ["white", "black"]),
    ("Wagen", ["klein", "groß"]),
]


@pytest.mark.parametrize(("name", "values"), LABELS)
def test_a_class_label_has_no_topic(name: str, values: list[str]) -> None:
    """Labels that tables of learners have are neither demographic nor places nor secrets."""
    assert not describes_person(name, values)
    assert not is_place(name, values)
    assert not looks_like_secret(name, values)


@pytest.mark.parametrize(
    "name",
    [
        "age_group",
        "birthYear",
        "Geburtsdatum",
        "sexe",
        "fecha_nacimiento",
        "sesso",
        "Estado civil",
        "geslacht",
        "płeć",
        "køn",
        "età",
        "race",
        "native-country",
        "Staatsangehörigkeit",
        "marital-status",
        "nationalité",
        "wiek",
    ],
)
def test_a_demographic_column_is_found_by_its_name(name: str) -> None:
    """In nine languages, with accents and without; two words count where they are side by side."""
    assert is_demographic(name)


@pytest.mark.parametrize(
    "values",
    [
        ["F", "M"],
        ["Female", "Male", "?"],
        ["weiblich", "männlich", "divers"],
        ["K", "M"],
        ["married", "Never-married", "Divorced"],
        ["White", "Black", "Asian-Pac-Islander"],
        ["German", "French", "polish"],
        ["18-24", "25-34", "65+"],
    ],
)
def test_a_demographic_column_is_found_by_its_values(values: list[str]) -> None:
    """Published lists of sexes, marital states, ethnic groups and nationalities, and bands of ages."""
    assert is_demographic("v7", values)


@pytest.mark.parametrize("values", [["m", "b"], ["f"], [], ["0-5", "6-10"], ["100-200", "200-300", "300-400"]])
def test_few_letters_and_bands_are_not_demographic(values: list[str]) -> None:
    """A list must know both sexes; bands must be three, and end where ages do."""
    assert not is_demographic("v7", values)


def test_work_and_schooling_describe_a_person_and_are_not_demographic() -> None:
    """Employers and degrees are known of people, but do not distinguish tables of people from tables of things."""
    assert describes_person("employer")
    assert not is_demographic("employer")


@pytest.mark.parametrize("name", ["zip", "lon", "Postleitzahl", "Wohnort", "ville", "kommune", "state", "home_city"])
def test_a_place_is_found_by_its_name(name: str) -> None:
    """Regions, addresses and coordinates."""
    assert is_place(name)


@pytest.mark.parametrize(
    "values", [["Germany", "France", "?"], ["Bayern", "Hessen"], ["DE", "FR", "PL"], ["Polska", "Niemcy"]]
)
def test_a_place_is_found_by_its_values(values: list[str]) -> None:
    """Names of countries and regions, three country codes or more."""
    assert is_place("v7", values)


def test_two_short_codes_are_no_countries() -> None:
    """`AM` and `PM` are both codes of ISO 3166-1."""
    assert not is_place("v7", ["AM", "PM"])


@pytest.mark.parametrize(
    "name",
    [
        "illness",
        "Diagnose",
        "salary",
        "wage",
        "pay",
        "gehalt",
        "løn",
        "religion",
        "Parteizugehörigkeit",
        "union_member",
        "sexual_orientation",
        "is_convicted",
        "enfermedad",
        "choroba",
        "hiv_status",
        "vote",
    ],
)
def test_a_secret_is_found_by_its_name(name: str) -> None:
    """Health, belief, politics, sexuality, crime, unions and pay."""
    assert looks_like_secret(name)


@pytest.mark.parametrize(
    "values",
    [["flu", "HIV", "cancer"], ["katholisch", "evangelisch"], ["Democrat", "Republican"], ["C50.9", "E11.2", "I10.0"]],
)
def test_a_secret_is_found_by_its_values(values: list[str]) -> None:
    """Common diagnoses and codes of diagnoses, confessions, parties."""
    assert looks_like_secret("v7", values)


@pytest.mark.parametrize(("values", "secret"), [(["1000", "2000", "3500"], True), (["low", "high"], False)])
def test_an_income_is_a_secret_as_an_amount_alone(values: list[str], secret: bool) -> None:
    """Classes of an income are a label that tables of learners have."""
    assert looks_like_secret("income", values) is secret
