"""A table with one scheme that predicts the target, so that a private choice finds it, for releases of drawn rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.policy.declaration import Policy

JOBS = [f"job {at:02d}" for at in range(40)]
TREE = [[job, "indoors" if at < 20 else "outdoors"] for at, job in enumerate(JOBS)]
COLUMNS: dict[str, dict[str, Any]] = {
    "who": {"role": "identifier"},
    "job": {"categories": JOBS, "tree": TREE},
    "score": {"bounds": [0, 64]},
    "colour": {"categories": ["blue", "green", "red", "white"]},
    "sex": {"role": "sensitive", "categories": ["f", "m"]},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
POLICY = Policy.from_dict({"columns": COLUMNS})
UNTARGETED = replace(Policy.from_dict({"columns": {**COLUMNS, "ill": {"role": "insensitive"}}}), without_target=True)
EASY: dict[str, Any] = {"method": "safepub", "epsilon": 20.0, "delta": 1e-3, "k": 5, "ledger": None}


def people(n_rows: int = 1280, seed: int = 1) -> pa.Table:
    """Return people who are ill where the kind of their job and a high score disagree; no column alone predicts it."""
    random = np.random.default_rng(seed)
    job = np.arange(n_rows) % 40
    score = random.permutation(np.arange(n_rows) % 64)
    ill = (job >= 20) ^ (score >= 40)
    return pa.table(
        {
            "who": [f"person {at}" for at in range(n_rows)],
            "job": [JOBS[at] for at in job.tolist()],
            "score": score.astype(float),
            "colour": [("blue", "green", "red", "white")[at] for at in random.integers(0, 4, n_rows).tolist()],
            "sex": [("f", "m")[at] for at in random.integers(0, 2, n_rows).tolist()],
            "ill": [("no", "yes")[at] for at in ill.astype(int).tolist()],
        }
    )
