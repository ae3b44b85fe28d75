"""A release that fails once noise was drawn is charged: that it failed, and how, may follow from the noise."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from promises.noisy_histogram import NoisyHistogram

import anonkit
from anonkit.errors import BudgetError, ParameterError
from anonkit.ledger import Ledger
from anonkit.methods.dp_marginals import DPMarginals
from anonkit.methods.mondrian import Mondrian
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.randomness import Randomness

TABLE = pa.table({"ward": ["A", "B", "C"] * 20, "year": ["1", "2"] * 30})
POLICY = Policy(
    dataset="patients",
    columns={
        "ward": Column(name="ward", role=Role.QUASI_IDENTIFIER, categories=("A", "B", "C")),
        "year": Column(name="year", role=Role.TARGET, categories=("1", "2")),
    },
)
FAILURES: dict[str, type[Exception]] = {"a refusal": ParameterError, "a defect": KeyError}


@dataclass(frozen=True, kw_only=True)
class FailsLater(NoisyHistogram):
    """Draws its noise and then cannot go on."""

    name: ClassVar[str] = "fails-later"
    why: str = "a refusal"

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Fail after the draws."""
        super().release(source, policy, engine=engine, rng=rng, progress=progress)
        raise FAILURES[self.why]("out of range")


@dataclass(frozen=True, kw_only=True)
class FailsFirst(FailsLater):
    """Cannot go on before any noise is drawn."""

    name: ClassVar[str] = "fails-first"

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Fail before the draws."""
        raise FAILURES[self.why]("out of range")


def fail(*_: object, **__: object) -> None:
    """Fail in post-processing."""
    raise ParameterError("out of range", "give more")


def spent(ledger: Path) -> float:
    """The charges of the patients."""
    return Ledger(ledger).standing("patients").epsilon if ledger.exists() else 0.0


def released(method: Any, tmp_path: Path, **more: Any) -> anonkit.Release:
    """Release the patients."""
    given: Mapping[str, Any] = {"output": tmp_path / "out.parquet", "ledger": tmp_path / "ledger.sqlite", **more}
    return anonkit.release(TABLE, method=method, policy=POLICY, **given)


@pytest.mark.parametrize("why", FAILURES)
def test_a_failure_after_the_draws_is_charged_and_says_so(why: str, tmp_path: Path) -> None:
    """For any error: it is charged once each time, nothing is published, and a used up budget refuses the next."""
    method = FailsLater(epsilon=1.0, why=why)
    with pytest.raises(FAILURES[why]) as raised:
        released(method, tmp_path)
    told = " ".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    assert told.count("privacy loss is booked in the ledger") == 1
    assert spent(tmp_path / "ledger.sqlite") == 1.0
    with pytest.raises(BudgetError):
        released(method, tmp_path, budget=1.5)
    assert spent(tmp_path / "ledger.sqlite") == 1.0
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("why", FAILURES)
def test_a_failure_before_the_draws_is_not_charged(why: str, tmp_path: Path) -> None:
    """It follows from no noise."""
    with pytest.raises(FAILURES[why]) as raised:
        released(FailsFirst(epsilon=1.0, why=why), tmp_path)
    assert "booked" not in str(raised.value)
    assert not getattr(raised.value, "__notes__", [])
    assert spent(tmp_path / "ledger.sqlite") == 0.0


def test_a_rehearsal_and_a_release_without_a_ledger_book_nothing(tmp_path: Path) -> None:
    """Neither is charged when it succeeds, either; no message states a charge."""
    for more in ({"dry_run": True}, {"ledger": None}):
        with pytest.raises(ParameterError) as raised:
            released(FailsLater(epsilon=1.0), tmp_path, **more)
        assert "booked" not in str(raised.value)
    assert spent(tmp_path / "ledger.sqlite") == 0.0


def test_what_fails_between_the_draft_and_the_ledger_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft of a method that ships is counted, and its models are trained, before anything is reserved."""
    method = DPMarginals(epsilon=2.0)
    monkeypatch.setattr("anonkit.pipeline.release_path.release_utility", fail)
    with pytest.raises(ParameterError, match="booked"):
        released(method, tmp_path)
    assert spent(tmp_path / "ledger.sqlite") == 2.0


def test_randomized_rows_that_never_left_can_be_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure is charged, but it is no first draw with which a second one could be averaged."""
    given: dict[str, Any] = {"epsilon": 1.0, "output": tmp_path / "out.parquet", "ledger": tmp_path / "ledger.sqlite"}
    with monkeypatch.context() as patched:
        patched.setattr("anonkit.pipeline.release_path.release_utility", fail)
        with pytest.raises(ParameterError, match="booked"):
            anonkit.release(TABLE, method="rr", policy=POLICY, **given)
    assert spent(tmp_path / "ledger.sqlite") == pytest.approx(1.0)
    anonkit.release(TABLE, method="rr", policy=POLICY, **given)
    assert spent(tmp_path / "ledger.sqlite") == pytest.approx(2.0)
    with pytest.raises(BudgetError, match="randomized before"):
        anonkit.release(TABLE, method="rr", policy=POLICY, **given | {"output": tmp_path / "other.parquet"})


def test_a_promise_without_a_loss_has_none_to_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """k-anonymous classes are shuffled, which is no noise."""
    monkeypatch.setattr("anonkit.pipeline.release_path.release_utility", fail)
    with pytest.raises(ParameterError) as raised:
        released(Mondrian(k=5), tmp_path)
    assert "booked" not in str(raised.value)
    ledger = tmp_path / "ledger.sqlite"
    assert not ledger.exists() or not Ledger(ledger).standing("patients").entries


def test_draws_are_counted_for_all_that_derive_from_one() -> None:
    """Words and keys count, a child alone does not; the count brings no key of a parent along."""
    root = Randomness.seeded(1)
    child = root.child("one").child("below")
    assert root.draws == 0
    child.words(3)
    assert root.draws == 1
    root.child("other").key("rows")
    assert root.draws == 2
    assert Randomness.seeded(1).draws == 0
    assert root._key not in pickle.dumps(child)
