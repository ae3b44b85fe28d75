# SPDX-License-Identifier: Apache-2.0
"""Simulated hospital patients and their visits: two tables that join, with several rows a person."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from anonkit.datasets.seeded_draws import FloatArray, Stream, numbered, uniforms

_REGIONS = ("north", "south", "east", "west", "islands", "abroad")
_WARDS = ("cardiology", "surgery", "maternity", "eyes", "emergency")
_MOST_VISITS = 12


def hospital_patients(n: int = 1_000, seed: int = 0) -> pa.Table:
    """Simulate patients, one row each: `patient_id`, `age` (18 to 97), `sex`, `region` (six).

    Parameters
    ----------
    n : int
        Patients, in [0, inf).
    seed : int
        Which population, in [0, inf).
    """
    patients = _patients(n, seed)
    return pa.table(
        {
            "patient_id": numbered("P", np.arange(n)),
            "age": pa.array(18 + (patients[:, 0] * 80).astype(np.int64)),
            "sex": pa.array(np.array(["f", "m"])[(patients[:, 1] * 2).astype(np.int64)]),
            "region": pa.array(np.array(_REGIONS)[(patients[:, 2] ** 2 * len(_REGIONS)).astype(np.int64)]),
        }
    )


def hospital_visits(n: int = 1_000, seed: int = 0) -> pa.Table:
    """Simulate the visits of the patients of `hospital_patients` with the same parameters.

    A third of the patients have none; the others have 1 to 12, older ones more. `patient` identifies the person of a
    visit. Its columns are `ward` (five), `month` (1 to 12), `days` (1 to 20) and whether the patient was `readmitted`
    (`yes`, `no`), which depends on age, ward and days.

    Parameters
    ----------
    n, seed : int
        As in `hospital_patients`: the patients, not the visits.
    """
    patients = _patients(n, seed)
    often = 0.25 + 0.5 * patients[:, 0]
    visits = np.floor(np.log1p(-np.maximum(patients[:, 3] - 1 / 3, 0) * 1.5) / np.log(often))
    number = np.where(patients[:, 3] < 1 / 3, 0, np.minimum(1 + visits, _MOST_VISITS)).astype(np.int64)
    patient = np.repeat(np.arange(n), number)
    of_visit = (np.cumsum(number) - number)[patient]
    # a visit is drawn by its patient and its place among the patient's visits: more patients change no visit
    words = uniforms(seed, Stream.VISIT, 4 * _MOST_VISITS, 0, n).reshape(n, _MOST_VISITS, 4)
    visits = words[patient, np.arange(patient.size) - of_visit]
    ward = (visits[:, 0] * len(_WARDS)).astype(np.int64)
    days = 1 + (19 * visits[:, 2] ** 2).astype(np.int64)
    chance = 0.1 + 0.35 * patients[patient, 0] + np.array([0.3, 0.15, 0.0, -0.05, 0.0])[ward] + 0.01 * days
    return pa.table(
        {
            "patient": numbered("P", patient),
            "ward": pa.array(np.array(_WARDS)[ward]),
            "month": pa.array(1 + (12 * visits[:, 1]).astype(np.int64)),
            "days": pa.array(days),
            "readmitted": pa.array(np.where(visits[:, 3] < chance, "yes", "no")),
        }
    )


def _patients(n: int, seed: int) -> FloatArray:
    """Return four uniform numbers a patient, shape (n, 4)."""
    return uniforms(seed, Stream.PATIENT, 4, 0, n)
