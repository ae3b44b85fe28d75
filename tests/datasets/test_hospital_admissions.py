"""Simulated patients and visits: the tables join, and more patients change no patient and no visit."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from anonkit.datasets.hospital_admissions import hospital_patients, hospital_visits


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
