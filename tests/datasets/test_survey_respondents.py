# SPDX-License-Identifier: Apache-2.0
"""Simulated respondents of a survey: weights and missing answers."""

from __future__ import annotations

from anonkit.datasets import survey_respondents


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
