"""Figures beside the experiments of Zhang & Tang 2007: where TRR fails, and the ladder at one epsilon of a row.

Their own figures are in `recipes/papers/004-ppnb.toml`. Simulated bank customers, 50,000 to learn from and 5,000 to
predict; Adult, 32,561 and 16,281.

Run it:  python recipes/benchmarks/randomized_figures.py [--draws 3] [--plots docs/methods]
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from anonkit.cli.experiments import harness
from anonkit.consumers import NaiveBayes
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.engines import open_engine
from anonkit.methods.dp_nb import DPNB
from anonkit.methods.ppnb import PPNB
from anonkit.methods.rr import RR
from anonkit.pipeline.recipe import Recipe
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.published.channels.number_channels import PUBLISHED
from anonkit.published.randomized_table import PublishedTable
from anonkit.randomized_response.randomized_draft import draft_randomized
from anonkit.randomness import Randomness

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
LOOK = {
    "plain naive Bayes": ("#333333", "", "--"),
    "commonest class": ("#999999", "", ":"),
    "rr, split over all attributes": ("#b5482a", "v", "-"),
    "rr, one attribute a row": ("#1f5fa8", "o", "-"),
    "dp-nb (trusted owner)": ("#2a8c4a", "^", "-"),
}
"""Colour, marker and line of each series."""


@dataclass(frozen=True)
class Data:
    """A table to learn from, one to predict, and what is declared about them."""

    name: str
    train: pa.Table
    test: pa.Table
    policy: Policy

    @property
    def truth(self) -> np.ndarray[Any, Any]:
        """The labels of the rows to predict."""
        return np.array(self.test.column(str(self.policy.target)).cast(pa.string()).to_pylist())


def bank(draw: int) -> Data:
    """Return simulated customers."""
    policy = bank_customers_policy()
    train, test = bank_customers(50_000, seed=2 * draw + 1), bank_customers(5_000, seed=2 * draw + 2)
    return Data("simulated customers", train, test, policy.resolve(train.schema.names))


def adult(_: int) -> Data:
    """Return Adult with the domains of its codebook."""
    policy = Recipe.load(ROOT / "recipes" / "adult-ppnb.toml").policy
    names = ("adult_train.csv.gz", "adult_test.csv")
    train, test = (pa.Table.from_pandas(pd.read_csv(DATA / name), preserve_index=False) for name in names)
    return Data("Adult", train, test, policy.resolve(train.schema.names))


def accuracy(data: Data, table: PublishedTable, seed: int, **settings: Any) -> float:
    """Randomize, learn, and return the share of the test rows that are predicted."""
    engine = open_engine("local")
    source, domains = engine.scan(data.train, Policy()), public_domains(data.policy)
    draft = draft_randomized(source, data.policy, engine, Randomness.seeded(seed), table, domains)
    model = NaiveBayes(table, **settings)
    for batch in draft.data.batches():
        model.partial_fit(batch)
    return float((model.predict(data.test) == data.truth).mean())


def plain_accuracy(data: Data) -> float:
    """Return the accuracy of naive Bayes on the rows as they are: shares of categories, normal numbers."""
    table = PPNB(p_keep=0.5, center=False).published(data.policy)
    return accuracy(data, harness("unprotected_models").unprotected(table), 0)


def _majority(data: Data) -> float:
    return float(np.unique(data.truth, return_counts=True)[1].max() / data.truth.size)


def where_trr_fails(draws: int) -> list[tuple[str, int, float, float]]:
    """Return accuracy as published and centred, for one number N(mu, 1) against N(mu + 2, 1), 50,000 rows."""
    out = []
    for noise in PUBLISHED:
        for mu in (5, 10, 20, 165):
            found = np.zeros(2)
            for draw in range(draws):
                data = _two_heaps(mu, draw)
                for at, center in enumerate((False, True)):
                    table = PPNB(p_keep=0.5, noise=noise, center=center).published(data.policy)
                    settings = {} if center else {"estimator": "published"}
                    found[at] += accuracy(data, table, draw, **settings) / draws
            out.append((noise, mu, *found))
    return out


def _two_heaps(mu: float, seed: int) -> Data:
    policy = Policy.from_dict(
        {"columns": {"x": {"bounds": [mu - 4, mu + 6]}, "y": {"role": "target", "categories": ["0", "1"]}}}
    )
    rng = np.random.default_rng(seed)
    parts = []
    for n in (50_000, 20_000):
        y = rng.integers(0, 2, n)
        parts.append(pa.table({"x": rng.normal(mu + 2 * y, 1), "y": pa.array(y.astype(str))}))
    return Data("two heaps", *parts, policy)


def ladder(make: Callable[[int], Data], draws: int, epsilons: tuple[float, ...] = EPSILONS) -> dict[str, list[float]]:
    """Return the mean accuracy at every epsilon of a row: every attribute with a share, one with all, noisy counts."""
    sums: dict[str, np.ndarray[Any, Any]] = {name: np.zeros(len(epsilons)) for name in list(LOOK)}
    for draw in range(draws):
        data = make(draw)
        for at, epsilon in enumerate(epsilons):
            for name, allocation in (("rr, split over all attributes", "split"), ("rr, one attribute a row", "sample")):
                table = RR(epsilon=epsilon, allocation=allocation, label="clear").published(data.policy)
                sums[name][at] += accuracy(data, table, 100 * draw + at)
            engine, method = open_engine("local"), DPNB(epsilon=epsilon)
            source = engine.scan(data.train, Policy())
            draft = method.release(source, data.policy, engine=engine, rng=Randomness.seeded(draw))
            sums["dp-nb (trusted owner)"][at] += float(
                (NaiveBayes().fit(None, draft.params).predict(data.test) == data.truth).mean()
            )
        sums["plain naive Bayes"] += plain_accuracy(data)
        sums["commonest class"] += _majority(data)
    return {name: list(values / draws) for name, values in sums.items()}


def plot(path: Path, x: tuple[float, ...], results: Mapping[str, Mapping[str, list[float]]], x_label: str) -> None:
    """Draw one panel a data set, one line a series, as a light SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "anonkit"})
    figure, panels = plt.subplots(1, len(results), figsize=(9.2, 4.0), layout="constrained")
    places = range(len(x))
    for panel, (title, series) in zip(panels, results.items(), strict=True):
        for name, values in series.items():
            colour, marker, line = LOOK[name]
            percent = [100 * value for value in values]
            panel.plot(places, percent, line, color=colour, marker=marker or None, markersize=3.5, lw=1.3, label=name)
        panel.set_title(f"{title} (commonest class {100 * series['commonest class'][0]:.1f} %)", fontsize=10)
        panel.set_xlabel(x_label)
        panel.set_xticks(places, [f"{one:g}" for one in x])
        panel.grid(axis="y", color="#e5e5e5", lw=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("accuracy, %")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _print(title: str, x: tuple[float, ...], series: Mapping[str, list[float]]) -> None:
    print(f"\n{title}\n{'':42}" + " ".join(f"{one:5g}" for one in x))
    for name, values in series.items():
        print(f"{name:42}" + " ".join(f"{100 * value:5.1f}" for value in values), flush=True)


def main() -> None:
    """Print every figure and write the plots."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--trr-draws", type=int, default=20, help="of the failure of TRR, which strikes by chance")
    parser.add_argument("--plots", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"one number N(mu, 1) against N(mu + 2, 1), best possible {50 * (1 + math.erf(1 / math.sqrt(2))):.1f} %")
    for noise, mu, raw, centred in where_trr_fails(given.trr_draws):
        print(f"a ~ {noise:8} mu {mu:4}: as published {100 * raw:5.1f}, centred {100 * centred:5.1f}", flush=True)
    ladders = {}
    for make in (bank, adult):
        name = make(0).name
        ladders[name] = ladder(make, given.draws)
        _print(f"accuracy at one epsilon of a row, label clear: {name}", EPSILONS, ladders[name])
    if given.plots:
        plot(given.plots / "ppnb-ladder.svg", EPSILONS, ladders, "epsilon of a row")


if __name__ == "__main__":
    main()
