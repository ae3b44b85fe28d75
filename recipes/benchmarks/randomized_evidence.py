"""Evidence for the claims of the randomized methods: coverage of intervals, audited losses, planted bugs, refusals.

Run it:  python recipes/benchmarks/randomized_evidence.py [--runs 500]
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound_over_inputs
from anonkit.consumers import NaiveBayes, frequencies, moments
from anonkit.consumers.column_statistics import ClassStatistics, Columns
from anonkit.domains.number_bins import Categories
from anonkit.errors import AnonkitError
from anonkit.mechanisms.randomizers import KaryRandomizer, NumberRandomizer, randomizer_of
from anonkit.policy.declaration import Policy
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, ContinuousDraw, TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.randomness import Randomness

ROWS = 200_000
JOBS = Categories(values=("a", "b", "c", "d", "e"))
CLASSES = Categories(values=("no", "yes"))
SHARES = np.array([[0.45, 0.25, 0.15, 0.1, 0.05], [0.05, 0.1, 0.2, 0.25, 0.4]])


def coverage(runs: int) -> dict[str, float]:
    """Return how often nominal 95 % intervals hold the truth: 4,000 rows, p_0 = .35, N(1,1), fresh rows every run."""
    channel, trr = RandomizedResponse.equal(5, 0.35), TransformedResponse.centred(*PUBLISHED["N(1,1)"], (0, 100))
    label = RandomizedResponse.equal(2, 0.6)
    job = PublishedAttribute(name="job", domain=JOBS, mechanism=channel)
    age = PublishedAttribute(name="age", domain=None, mechanism=trr)
    clear, hidden = (
        PublishedTable(target=PublishedTarget(name="y", domain=CLASSES, mechanism=one), attributes=(job, age))
        for one in (RandomizedResponse.clear(2), label)
    )
    hits: dict[str, list[Any]] = {}
    rng = np.random.default_rng(0)
    for run in range(runs):
        y = rng.integers(0, 2, 4_000)
        jobs = (rng.random((y.size, 1)) > np.cumsum(SHARES, axis=1)[y]).sum(axis=1)
        key = Randomness.seeded(run).key("coverage")
        shown = {
            "job": np.array(JOBS.values, dtype=object)[
                randomizer_of(channel).randomize(jobs.astype(np.uint8), key=key, stream=0)
            ],
            "age": NumberRandomizer(trr).randomize(rng.normal(40 + 10 * y, 8), key=key, stream=1),
            "y": np.array(CLASSES.values, dtype=object)[y],
        }
        found = frequencies(shown, clear, "job")
        truth = SHARES.mean(axis=0)
        hits.setdefault("share of a category", []).append((found.lower <= truth) & (truth <= found.upper))
        mean = moments(shown, clear, "age")
        hits.setdefault("mean of a number", []).append(mean.lower[0] <= 45 <= mean.upper[0])
        for name, table in (("label clear", clear), ("label randomized", hidden)):
            codes = y if table is clear else randomizer_of(label).randomize(y, key=key, stream=2)
            statistics = ClassStatistics(table)
            statistics.add(Columns({**shown, "y": np.array(CLASSES.values, dtype=object)[codes]}))
            factor = NaiveBayes(smoothing=0).fit_statistics(statistics).model_.factors[0]
            inside = np.abs(factor.unbiased - SHARES) <= 1.959964 * factor.errors  # type: ignore[union-attr,operator]
            hits.setdefault(f"P(category | class), {name}", []).append(inside)
    return {name: float(np.mean(np.array(one))) for name, one in hits.items()}


class _NeverBlindlyTheLast(KaryRandomizer):
    """Planted bug: the last category is never a blind answer."""

    def answer(self, codes: np.ndarray, words: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        honest, last = super().answer(codes, words), self.channel.n_inputs - 1
        return np.where((honest == last) & (codes != last), 0, honest)


def audits() -> list[tuple[int, str, float, float]]:
    """Return size, what is audited, claim and lower bound (99.9 %) from 200,000 answers an input."""
    key, out = Randomness.seeded(11).key("audit"), []

    def bound(answer: Callable[[int, int], np.ndarray[Any, Any]], inputs: list[int], pilot: float = 0.1) -> float:
        samples = [answer(code, stream) for stream, code in enumerate(inputs)]
        return lower_bound_over_inputs(samples, pilot=pilot).lower_bound

    for size in (2, 16, 42):
        honest = RandomizedResponse.from_epsilon(size, 1.0)
        # the truth probability of answers drawn among the other m - 1, used with blind answers among all m
        mixed = RandomizedResponse.equal(size, math.e / (math.e + size - 1))
        broken = _NeverBlindlyTheLast(honest)

        def one(code: int, stream: int, channel: RandomizedResponse | KaryRandomizer = honest) -> np.ndarray[Any, Any]:
            randomizer = channel if isinstance(channel, KaryRandomizer) else KaryRandomizer(channel)
            return randomizer.randomize(np.full(ROWS, code, dtype=np.int32), key=key, stream=stream)

        def pair(code: int, stream: int, one: Any = one) -> np.ndarray[Any, Any]:
            answers = one(code, 100 + stream), one(code, 200 + stream)
            return np.asarray(sum((answer == 0).astype(np.int64) - (answer == 1) for answer in answers) + 2)

        out.append((size, "as it is", honest.epsilon, bound(one, [0, size - 1])))
        others = bound(lambda c, s, m=mixed: one(c, s, m), [0, 1])
        out.append((size, "bug: p_0 meant for m - 1 blind answers", 1.0, others))
        out.append((size, "bug: budget of two attributes not halved", 1.0, bound(pair, [0, 1], 0.3)))
        never = bound(lambda c, s, m=broken: one(c, s, m), list(range(size)))
        out.append((size, "bug: a category never answered blindly", 1.0, never))
    return out


def refusals() -> list[tuple[str, str]]:
    """Return failing cases with the messages to a user."""
    table = pa.table({"c": ["u", "v", "w"] * 40, "x": [1.0, 2.0, 3.0] * 40, "y": ["0", "1", "1"] * 40})
    columns = {"c": {"categories": ["u", "v", "w"]}, "y": {"role": "target", "categories": ["0", "1"]}}

    def errph(weights: list[float], **strength: float) -> str:
        policy = Policy.from_dict({"columns": {**columns, "c": {**columns["c"], "answer_weights": weights}}})
        made = anonkit.release(table.select(["c", "y"]), method="errph", policy=policy, seed=1, **strength)
        return str(made.report["guarantee"]["statement"])

    def unseen() -> str:
        policy = Policy.from_dict({"columns": {**columns, "c": {"categories": ["u", "v"]}}})
        anonkit.release(table.select(["c", "y"]), method="errph", p_keep=0.5, policy=policy, seed=1)
        return ""

    def unseen_to_predict() -> str:
        policy = Policy.from_dict({"columns": columns})
        made = anonkit.release(table.select(["c", "y"]), method="errph", p_keep=0.5, policy=policy, seed=1)
        return _warned(lambda: NaiveBayes().fit(made.to_arrow(), made.params).predict(pa.table({"c": ["u", "z"]})))

    def drowned(estimator: str) -> str:
        trr = TransformedResponse(multiplier=PUBLISHED["N(1,1)"][0], offset=PUBLISHED["N(1,1)"][1])
        described = PublishedTable(
            target=PublishedTarget(name="y", domain=CLASSES, mechanism=RandomizedResponse.clear(2)),
            attributes=(PublishedAttribute(name="x", domain=None, mechanism=trr),),
        )
        rng = np.random.default_rng(4)
        shown = NumberRandomizer(trr).randomize(rng.normal(165, 1, 2_000), key=Randomness.seeded(4).key("x"), stream=0)
        rows = {"x": shown, "y": np.array(CLASSES.values, dtype=object)[rng.integers(0, 2, 2_000)]}
        return _warned(lambda: NaiveBayes(estimator=estimator).fit(rows, described).predict({"x": np.array([165.0])}))  # type: ignore[arg-type]

    still = ContinuousDraw(mean=0, variance=1)
    cases: list[tuple[str, Callable[[], Any]]] = [
        ("variance not above 0, likelihood", lambda: drowned("likelihood")),
        ("variance not above 0, as published", lambda: drowned("published")),
        ("mean of a is 0", lambda: TransformedResponse(multiplier=still, offset=still)),
        ("p_j = 0 with p_keep", lambda: errph([1, 1, 0], p_keep=0.5)),
        ("p_j = 0 with epsilon", lambda: errph([1, 1, 0], epsilon=1.0)),
        ("category outside the domain, releasing", unseen),
        ("category outside the domain, predicting", unseen_to_predict),
    ]
    out = []
    for name, action in cases:
        try:
            out.append((name, str(action())))
        except AnonkitError as error:
            out.append((name, f"{error.message}. Hint: {error.hint}"))
    return out


def _warned(action: Callable[[], object]) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return "; ".join(f"warning: {one.message}" for one in caught)


def main() -> None:
    """Print coverage, audits and refusals."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=500)
    given = parser.parse_args()
    for name, share in coverage(given.runs).items():
        print(f"coverage of 95 % intervals, {given.runs} runs: {name:40} {share:.3f}", flush=True)
    for size, what, claim, found in audits():
        verdict = "caught" if found > claim else "below the claim"
        print(f"m = {size:2}  {what:45} claim {claim:.3f}  lower bound {found:.3f}  {verdict}", flush=True)
    for name, said in refusals():
        print(f"{name}: {said}")


if __name__ == "__main__":
    main()
