"""Releases replayed on neighbouring tables: every draw is met on the way, and its outcome is fixed by the test.

`anonkit.mechanisms` has three functions through which anything of the rows may leave a central release: noise on
counts, and two private choices. While one table is released all their outcomes are drawn by the test (any outcome is
possible under them, so any may be taken) and written down. A neighbour is then released with the same outcomes. Three
things follow that need no statistics:

* both releases must make the same draws in the same order, with the same rates, shapes and candidates: else
  something else than an outcome decided what is drawn next;
* everything that leaves must be the same, byte for byte: else something that was not drawn got into it;
* the log ratio of the probabilities of these outcomes is the privacy loss of this output, exactly. What the account
  says a row pays must not be less.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.bundle.stored_release import Release
from anonkit.dp_trees import split_selection
from anonkit.mechanisms import exact_samplers
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.statements.noise_statement import EXPONENTIAL, PERMUTE_AND_FLIP
from anonkit.randomness import Randomness
from anonkit.report import document


class _Stopped(datetime):
    """A stopped clock, so that releases of one second and of the next can be the same bytes."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        """One moment."""
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=tz)


@dataclass(frozen=True)
class Drawn:
    """One call of a mechanism."""

    kind: str
    public: tuple[Any, ...]
    """Rate, shape, candidates, weights: what must not depend on the rows."""
    exact: np.ndarray
    """Counts or scores: what the noise is there to hide."""
    outcome: np.ndarray


@dataclass
class Transcript:
    """The calls of a release, recorded or replayed."""

    recorded: list[Drawn] = field(default_factory=list)
    replayed: list[Drawn] = field(default_factory=list)
    adversary: random.Random | None = None
    """Makes private choices while recording, all candidates alike; None while replaying."""
    noise: UniformStream = field(default_factory=lambda: UniformStream(Randomness.seeded(0)))
    """Of the noise while recording."""

    def outcome(self, kind: str, public: tuple[Any, ...], exact: np.ndarray, any_of: Callable[[], Any]) -> np.ndarray:
        """Return the outcome of a call: any possible one, or that which was recorded."""
        if self.adversary is not None:
            self.recorded.append(Drawn(kind, public, exact.copy(), np.asarray(any_of(), dtype=np.int64)))
            return self.recorded[-1].outcome.copy()
        at = len(self.replayed)
        assert at < len(self.recorded), "the neighbour draws more: something that was not drawn decided that"
        known = self.recorded[at]
        assert (kind, public) == (known.kind, known.public), f"draw {at} is another one for the neighbour"
        self.replayed.append(Drawn(kind, public, exact.copy(), known.outcome))
        return known.outcome.copy()

    def losses(self) -> Iterator[tuple[str, Fraction | float, Fraction | float]]:
        """Yield, for each call, its kind, the log ratio of its outcome, and the largest one of any outcome."""
        assert len(self.recorded) == len(self.replayed), "the neighbour draws less"
        for first, second in zip(self.recorded, self.replayed, strict=True):
            yield (first.kind, *loss_of(first, second))


def loss_of(first: Drawn, second: Drawn) -> tuple[Fraction | float, Fraction | float]:
    """Return ln P(outcome | first) - ln P(outcome | second), and the largest absolute value for any outcome."""
    rate = first.public[0]
    if first.kind == "noise":
        here, there = (np.abs(first.outcome - one.exact).sum() for one in (first, second))
        most = int(np.abs(first.exact - second.exact).sum())
        return Fraction(int(there - here) * rate, 1 << 52), Fraction(most * rate, 1 << 52)
    moved = (first.exact != second.exact).any(axis=1)
    seen = worst = 0.0
    for row in np.flatnonzero(moved):
        allowed = np.frombuffer(first.public[2], dtype=bool).reshape(first.exact.shape)[row]
        weights = None if first.public[3] is None else np.frombuffer(first.public[3], dtype=np.int64)[allowed]
        laws = [law(first.kind, one.exact[row][allowed], rate * 2.0**-52, weights) for one in (first, second)]
        ratio = np.log(laws[0]) - np.log(laws[1])
        seen += float(ratio[int(allowed[: first.outcome[row]].sum())])
        worst += float(np.abs(ratio).max())
    return seen, worst


def law(kind: str, scores: np.ndarray, rate: float, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the law of a private choice by its formula."""
    chance = np.exp(rate * (scores - scores.max()).astype(np.float64))
    if kind == EXPONENTIAL:
        chance = chance if weights is None else chance * weights
        return chance / chance.sum()
    # permute-and-flip: candidate j has head and its place among the m heads is one of m. P(j) is the coin of j times
    # the mean of 1 / (1 + heads of the others): an integral over t of the product of 1 - p + p t
    out = np.empty(scores.size)
    nodes, shares = np.polynomial.legendre.leggauss(64)
    points, shares = (nodes + 1) / 2, shares / 2
    for one in range(scores.size):
        others = np.delete(chance, one)
        out[one] = chance[one] * (shares * np.prod(1 - others + np.outer(points, others), axis=1)).sum()
    return out


@cache
def _load_methods() -> None:
    """Import what may hold a mechanism by name: a module that came later would hold the mechanism itself."""
    for found in pkgutil.walk_packages(anonkit.__path__, "anonkit."):
        if found.name.split(".")[1] in ("mechanisms", "dp_trees", "methods"):
            importlib.import_module(found.name)


@contextmanager
def standing_clock() -> Iterator[None]:
    """Let every report be of one moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "datetime", _Stopped)
        yield


@contextmanager
def met(transcript: Transcript) -> Iterator[None]:
    """Put the transcript in place of every mechanism, wherever the package holds it."""
    _load_methods()
    law_of_noise = exact_samplers.noisy_counts

    def noisy_counts(counts: Any, rate: int, words: Any) -> np.ndarray:
        exact = np.asarray(counts, dtype=np.int64)

        def any_of() -> np.ndarray:
            # of the law itself: a release looks at the noise that shows in it, and refuses too little or too much
            return law_of_noise(exact, rate, transcript.noise)

        return transcript.outcome("noise", (rate, exact.shape), exact, any_of)

    def chooser(kind: str) -> Callable[..., np.ndarray]:
        def choose(scores: Any, rate: int, words: Any, allowed: Any = None, weights: Any = None) -> np.ndarray:
            exact = np.asarray(scores, dtype=np.int64)
            mask = np.broadcast_to(np.ones(1, dtype=bool) if allowed is None else allowed, exact.shape)

            def any_of() -> list[int]:
                assert transcript.adversary is not None
                return [transcript.adversary.choice(np.flatnonzero(row).tolist()) for row in mask]

            public = (rate, exact.shape, mask.tobytes(), None if weights is None else np.asarray(weights).tobytes())
            return transcript.outcome(kind, public, np.where(mask, exact, 0), any_of)

        return choose

    in_place = {
        exact_samplers.noisy_counts: noisy_counts,
        exact_samplers.permute_and_flip: chooser(PERMUTE_AND_FLIP),
        exact_samplers.exponential_mechanism: chooser(EXPONENTIAL),
    }
    with pytest.MonkeyPatch.context() as patch:
        for module in [each for key, each in sys.modules.items() if key.startswith("anonkit.")]:
            for name, value in list(vars(module).items()):
                if callable(value) and getattr(value, "__hash__", None) and value in in_place:
                    patch.setattr(module, name, in_place[value])
        patch.setattr(
            split_selection,
            "CHOOSE",
            {kind: in_place.get(choose, choose) for kind, choose in split_selection.CHOOSE.items()},
        )
        yield


@dataclass(frozen=True)
class Replay:
    """Two releases with the same outcomes of all draws."""

    releases: tuple[Release, Release]
    messages: tuple[list[str], list[str]]
    """The logs and warnings of each."""
    transcript: Transcript

    @property
    def loss(self) -> float:
        """The absolute log ratio of the probabilities of the common outcomes."""
        return abs(float(sum(seen for _, seen, _ in self.transcript.losses())))

    @property
    def charge(self) -> float:
        """The largest loss of the draws, each by its worst outcome."""
        return float(sum(worst for _, _, worst in self.transcript.losses()))

    @property
    def leaves(self) -> list[dict[str, Any]]:
        """Return what leaves of both: every file, byte for byte, what was logged and warned of."""
        return [
            {**release.contents, "shown": repr(release), "messages": said}
            for release, said in zip(self.releases, self.messages, strict=True)
        ]


def replay(tables: tuple[pa.Table, pa.Table], seed: int, /, **request: Any) -> Replay:
    """Release a table with outcomes of the test's choice, and its neighbour with the same.

    Parameters
    ----------
    tables : pair of tables
        The second has the first's rows, or some of them, in the same places: words of a row go by its number.
    seed : int
        Of the outcomes, and of what is drawn without a look at the rows.
    """
    transcript = Transcript(
        adversary=random.Random(seed), noise=UniformStream(Randomness.seeded(seed).child("outcomes"))
    )
    made, messages = [], []
    for table in tables:
        with standing_clock(), met(transcript), _heard() as said:
            made.append(anonkit.release(table, seed=seed, ledger=None, **request))
        messages.append(said)
        transcript.adversary = None
    return Replay((made[0], made[1]), (messages[0], messages[1]), transcript)


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Collect what is logged under `anonkit`, and every warning."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("anonkit")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield said
        said += [str(one.message) for one in warned]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
