"""Bins cut at private quantiles beside equal bins with spikes: what a share of epsilon for the search of cuts buys.

Run it:  python recipes/benchmarks/quantile_bins.py [--tables bank admissions] [--epsilons .1 1 3] [--seeds 2]
             [--methods dp-marginals dp-forest dp-nb] [--shares 0.04 0.1]

A trial without a line of the package: each column of numbers is mapped to a scale on which its quantile bins are equal
cells, released there, and mapped back. The quantiles are found by the exponential mechanism over the bounds (Kaplan,
Schnapp, Stemmer 2022: halving, all cuts of one level at once), for a share of epsilon, in equal parts for columns and
levels; rows at a spike are left out. Both arms state the same spikes, so that only the bins differ; the arm of equal
bins has all of epsilon. dp-forest has as many quantile bins as its rule has equal ones.

The share of epsilon is chosen on the tables of `CHOICE`; figures are those of `REPORT`. Each line is the mean over
seeds, its figures those of `plausibility.py`.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from plausibility import TABLES, Table, figures

import anonkit

CHOICE = ("bank", "admissions", "wine")
"""Tables on which the share of epsilon is chosen."""
REPORT = ("adult", "survey", "trips", "ten means", "diabetes")
"""Tables whose figures are reported."""
SHOWN = ("spikes", "mean", "sd", "corr", "tv2", "AUC")
_STEPS = 1_000
"""Steps of the scale in each bin."""
_BINS = 16


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A column of numbers mapped to a scale on which its bins are equal cells."""

    edges: np.ndarray[Any, Any]
    spikes: tuple[float, ...]
    is_whole: bool

    def to(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return steps of the scale; NaN stays. No other number is at the step of a spike."""
        inside = np.clip(numbers, self.edges[0], self.edges[-1])
        at = np.clip(np.searchsorted(self.edges, inside, side="right") - 1, 0, len(self.edges) - 2)
        parts = (inside - self.edges[at]) / np.diff(self.edges)[at]
        steps = at * _STEPS + np.minimum(np.floor(parts * _STEPS), _STEPS - 1)
        for spike in self.spikes:
            (own,) = self._steps(spike)
            near = (steps == own) & (numbers != spike)
            steps = np.where(near, steps + np.where(steps % _STEPS == _STEPS - 1, -1, 1), steps)
        return np.where(np.isnan(numbers), np.nan, steps)

    def back(self, steps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the numbers of steps."""
        at = np.clip((steps // _STEPS), 0, len(self.edges) - 2)
        known = np.nan_to_num(at).astype(int)
        numbers = self.edges[known] + (steps - known * _STEPS + 0.5) / _STEPS * np.diff(self.edges)[known]
        numbers = np.round(numbers) if self.is_whole else numbers
        for spike in self.spikes:
            numbers = np.where(steps == self._steps(spike)[0], spike, numbers)
        return np.asarray(numbers)

    def _steps(self, number: float) -> np.ndarray[Any, Any]:
        return Scale(edges=self.edges, spikes=(), is_whole=self.is_whole).to(np.array([number]))


def quantiles(
    numbers: np.ndarray[Any, Any],
    low: float,
    high: float,
    bins: int,
    epsilon: float,
    *,
    is_whole: bool,
    rng: np.random.Generator,
) -> np.ndarray[Any, Any]:
    """Return ends of bins, the bounds included, shape (bins + 1 or fewer,); each level has the same part of epsilon."""
    levels = max(int(np.ceil(np.log2(bins))), 1)

    def cut(own: np.ndarray[Any, Any], start: float, end: float, parts: int) -> list[float]:
        if parts < 2 or end - start < 2 * (1 if is_whole else 1e-9 * (high - low)):
            return []
        left = parts // 2
        points = np.concatenate([[start], own, [end]])
        score = -np.abs(np.arange(own.size + 1) - own.size * left / parts)
        with np.errstate(divide="ignore"):
            weights = np.log(np.diff(points)) + epsilon / levels * score / 2
        at = int(np.argmax(weights + rng.gumbel(size=weights.size)))
        found = float(rng.uniform(points[at], points[at + 1]))
        found = np.floor(found) + 0.5 if is_whole else found
        found = float(np.clip(found, start + 0.5, end - 0.5)) if is_whole else found
        return [
            *cut(own[own < found], start, found, left),
            found,
            *cut(own[own >= found], found, end, parts - left),
        ]

    half = 0.5 if is_whole else 0.0
    inner = cut(np.sort(np.clip(numbers, low, high)), low - half, high + half, bins)
    return np.unique([low - half, *inner, high + half])


def scales(table: Table, source: pd.DataFrame, bins: int, epsilon: float, rng: np.random.Generator) -> dict[str, Scale]:
    """Return the scale of each column of numbers, found for an epsilon in all."""
    out = {}
    for name in table.numbers:
        own, spikes = table.columns[name], tuple(table.spikes.get(name, ()))
        numbers = source[name].dropna().to_numpy(dtype=float)
        whole = own.get("type") == "integer"
        low, high = own["bounds"]
        edges = quantiles(
            numbers[~np.isin(numbers, spikes)], low, high, bins, epsilon / len(table.numbers), is_whole=whole, rng=rng
        )
        out[name] = Scale(edges=edges, spikes=spikes, is_whole=whole)
    return out


def released(table: Table, source: pd.DataFrame, method: str, epsilon: float, seed: int, share: float) -> pd.DataFrame:
    """Return rows of a release with equal bins, or of quantile bins for a share of epsilon."""
    policy = {"columns": {name: dict(own) for name, own in table.policy(plain=False)["columns"].items()}}
    options: dict[str, Any] = {"method": method, "seed": seed, "ledger": None, "spikes": "declared"}
    equal = (
        anonkit.release(source, policy=policy, epsilon=epsilon, **options)
        if not share or method == "dp-forest"
        else None
    )
    if equal is not None and not share:
        return equal.to_arrow().to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    bins = _BINS if equal is None else _cells_of(equal.params)
    found = scales(table, source, bins, share * epsilon, np.random.default_rng(seed))
    mapped = source.copy()
    for name, scale in found.items():
        steps = scale.to(source[name].to_numpy(dtype=float, na_value=np.nan))
        mapped[name] = pd.Series(steps, index=source.index).astype("Int64")
        own = [float(scale.to(np.array([spike]))[0]) for spike in scale.spikes]
        role = policy["columns"][name]["role"]
        most = (len(scale.edges) - 1) * _STEPS
        policy["columns"][name] = {
            "role": role,
            "bounds": [0, most],
            "type": "integer",
            **({"spikes": own} if own else {}),
        }
    release = anonkit.release(mapped, policy=policy, epsilon=epsilon * (1 - share), bins=bins, **options)
    rows = release.to_arrow().to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    for name, scale in found.items():
        rows[name] = scale.back(rows[name].to_numpy(dtype=float, na_value=np.nan))
    return rows


def _cells_of(params: Any) -> int:
    """Return how many equal bins the rule of a release chose."""
    domains = [one["domain"] for one in params["attributes"] if "bounds" in one["domain"]]
    return max(int(domain.get("bins", domain["cells"])) for domain in domains)


def lines(name: str, methods: list[str], epsilons: list[float], seeds: int, shares: list[float]) -> Iterator[str]:
    """Yield the lines of one table: equal bins, and each share."""
    table = TABLES[name]()
    order = np.random.default_rng(1).permutation(len(table.rows))
    held_out, source = (table.rows.iloc[part] for part in np.split(order, [len(order) // 3]))
    for method, epsilon, share in itertools.product(methods, epsilons, [0.0, *shares]):
        found = [
            figures(table, source, released(table, source, method, epsilon, seed, share), held_out)
            for seed in range(seeds)
        ]
        means = [f"{np.mean([one[figure] for one in found]):.3f}" for figure in SHOWN]
        arm = f"quantiles, {share:g} of ε" if share else "equal"
        yield f"| {name} | {method} | {epsilon:g} | {arm} | {' | '.join(means)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="+", default=[*REPORT], choices=[*TABLES])
    parser.add_argument("--methods", nargs="+", default=["dp-marginals", "dp-forest", "dp-nb"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1, 3])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--shares", nargs="+", type=float, default=[0.04])
    asked = parser.parse_args()
    print(f"| table | method | ε | bins | {' | '.join(SHOWN)} |\n{'| --- ' * (len(SHOWN) + 4)}|")
    for name in asked.tables:
        for line in lines(name, asked.methods, asked.epsilons, asked.seeds, asked.shares):
            print(line, flush=True)


if __name__ == "__main__":
    main()
