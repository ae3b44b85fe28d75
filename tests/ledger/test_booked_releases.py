"""The part of a release's params that the ledger stores, and the digest that recognizes it.

The process at work in a place: by its id where that is visible, else for as long as it is believed alive.

The figures of a dataset's budget: spent is rounded up, left is rounded down, and all places agree.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import socket
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ledger.claims import claim

import anonkit
from anonkit.bundle import atomic, liveness
from anonkit.bundle.atomic import Staging
from anonkit.bundle.liveness import Process
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.ledger import Ledger
from anonkit.ledger.booked_releases import (
    Allowance,
    DatasetState,
    Entry,
    PlannedSpending,
    ReleaseState,
    at_work,
    digest_of_packed,
    pack,
    unpacked,
)
from anonkit.ledger.fingerprint import Fingerprint

LOSSES = st.lists(st.floats(1e-9, 20) | st.just(math.inf), max_size=6)


def _entry(loss: float, number: int = 1, delta: float | None = None) -> Entry:
    return Entry(
        dataset="d", method="rr", kind="local-dp", epsilon=loss, delta=delta, k=None, redrawn=True, output=None,
        params=None,
        fingerprint=Fingerprint(rows=3, exact=b"1" * 16, whole=b"2" * 16),
        number=number, state=ReleaseState.COMMITTED, created="2026-01-01T00:00", process="",
    )  # fmt: skip


@given(losses=LOSSES, budget=st.floats(1e-9, 50) | st.just(math.inf))
@example(losses=[3.9999999795], budget=4.0)
@example(losses=[0.1] * 6, budget=0.7)
@example(losses=[math.inf], budget=math.inf)
@example(losses=[math.inf], budget=2.0)
def test_what_is_left_fits_into_the_budget(losses: list[float], budget: float) -> None:
    """The figure, as its digits say, is never more than the budget less the losses, and hardly less."""
    allowance = Allowance(epsilon=budget)
    left = DatasetState(dataset="d", allowance=allowance, entries=[_entry(loss) for loss in losses]).left
    assert left is not None
    if math.isinf(budget):
        assert left == math.inf
    elif any(map(math.isinf, losses)):
        assert left == 0
    else:
        exact = Decimal(repr(budget)) - sum((Decimal(repr(loss)) for loss in losses), Decimal(0))
        assert Decimal(repr(left)) <= max(exact, Decimal(0))
        assert max(exact, Decimal(0)) - Decimal(repr(left)) <= Decimal("1e-15") * (1 + abs(exact))


def test_without_a_budget_nothing_is_said_to_be_left() -> None:
    """None, and not zero."""
    standing = DatasetState(dataset="d", entries=[_entry(1.0, delta=1e-6)])
    assert (standing.left, standing.left_delta) == (None, None)


def test_what_is_left_of_delta_is_what_its_own_budget_leaves() -> None:
    """Releases without a delta take nothing of it; the figures are exact, as the digits say."""
    entries = [_entry(1.0, delta=1e-6), _entry(1.0, delta=2e-6), _entry(math.inf)]
    standing = DatasetState(dataset="d", allowance=Allowance(delta=1e-5), entries=entries)
    assert (standing.delta, standing.left_delta, standing.left) == (3e-6, 7e-6, None)
    assert DatasetState(dataset="d", allowance=Allowance(delta=2e-6), entries=entries).left_delta == 0


@pytest.mark.parametrize(
    ("spent", "budget", "left"),
    [
        (3.9999999795, 4.0, "2.05e-08"),
        (0.1, 0.3, "0.2"),
        (1.0, 3.00004, "2.00004"),
        (2.0, 1.0, "0"),
        (0.00001, 0.00004, "3e-05"),
    ],
)
def test_the_ledger_says_the_same_to_people_and_machines(
    spent: float, budget: float, left: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Spent, budget and left in the text are those of --json; it was .0001 beside 2.05e-08."""
    path = tmp_path / "l.sqlite"
    ledger = Ledger(path)
    claim = PlannedSpending(
        **{field: getattr(_entry(spent, delta=spent / 100), field) for field in PlannedSpending.__dataclass_fields__}
    )
    number = ledger.reserve(claim, lambda standing: None, budget=Allowance(epsilon=budget, delta=budget / 100))
    ledger.commit(number)
    told = []
    for more in ([], ["--json"]):
        capfd.readouterr()
        assert run(commands, ["ledger", str(path), *more], "anonkit") == 0
        told.append(capfd.readouterr().out)
    (document,) = json.loads(told[1])["datasets"]
    for name, suffix in (("epsilon", ""), ("delta", "_delta")):
        found = re.search(rf"{name} (\S+) spent of (\S+), (\S+) left", told[0])
        assert found
        assert Decimal(found[1]) >= Decimal(repr(document[name]))
        assert Decimal(found[2]) <= Decimal(repr(document[f"budget{suffix}"]))
        assert Decimal(found[3]) <= Decimal(repr(document[f"left{suffix}"]))
        assert suffix or (found[3], Decimal(left)) == (left, Decimal(repr(document["left"])))


ELSEWHERE = '{"machine": "elsewhere", "boot": "", "number": 1, "started": ""}'


@pytest.mark.parametrize(
    ("minutes", "believed"), [(-1, True), (0, True), (1, True), (3, False), (-3, False), (-60 * 24 * 365, False)]
)
def test_a_release_of_another_machine_is_believed_for_a_while(minutes: int, believed: bool) -> None:
    """And no longer where a clock was wrong: one that was ahead would take the place for ever."""
    created = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
    more = {**vars(claim(output="/x/out.parquet")), "number": 1, "created": created, "process": ELSEWHERE}
    for state in (ReleaseState.RESERVED, ReleaseState.PUBLISHING):
        found = at_work("/x/out.parquet", [Entry(**more, state=state)])
        assert (found is not None) == believed


# --- what stands aside of a release that was killed ------------------------------------------------------------------


def _dies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every process count as dead, this one too."""
    monkeypatch.setattr(atomic, "_OWN", set())
    monkeypatch.setattr(Process, "is_surely_dead", lambda self: self.is_on_this_machine)


class _Killed(BaseException):
    """The process is gone at this moment."""


def _released_until(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stop: str, *, name: str = "out.parquet"
) -> tuple[Path, Path]:
    """Make a release that dies right before a call; return its ledger and the folder in which it was prepared."""
    ledger = folder / "ledger.sqlite"

    def die(*given: object, **more: object) -> None:
        raise _Killed

    with monkeypatch.context() as patched:
        patched.setattr(*{"publishing": (Ledger, "publishing"), "mark": (Staging, "commit")}[stop], die)
        patched.setattr(Staging, "discard", lambda self: None)
        patched.setattr("anonkit.ledger.spending._settled", lambda *given, **more: False)
        with pytest.raises(_Killed):
            anonkit.release(
                bank_customers(60, seed=1),
                method="rr",
                epsilon=0.5,
                policy=bank_customers_policy(),
                output=folder / "data" / name,
                ledger=ledger,
                budget=1.0,
            )
    (staged,) = (path for path in (folder / "data").iterdir() if ".anonkit-" in path.name and path.is_dir())
    return ledger, staged


def _standing(ledger: Path) -> tuple[list[str], float]:
    (standing,) = Ledger(ledger).datasets()
    return [str(entry.state) for entry in standing.entries], round(standing.epsilon, 6)


@pytest.mark.parametrize("name", ["out.parquet", "data[12].parquet"])
@pytest.mark.parametrize("stop", ["publishing", "mark"])
def test_a_killed_release_is_given_back_only_when_nothing_of_it_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: str, name: str
) -> None:
    """The prepared release is whole and validates: it is deleted before its loss is given back."""
    ledger, staged = _released_until(tmp_path, monkeypatch, stop, name=name)
    assert anonkit.validate(staged / name).passed
    _dies(monkeypatch)
    monkeypatch.setattr(shutil, "rmtree", _refuse)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", _refuse)
        assert _standing(ledger)[1] == 0.5
        assert (staged / name).exists()
    assert _standing(ledger) == (["rolled back"], 0.0)
    assert not list(staged.iterdir())


def _refuse(*given: object, **more: object) -> None:
    raise PermissionError(13, "no")


@pytest.mark.quick_cases("*-publishing")
@pytest.mark.parametrize("stop", ["publishing", "mark"])
@pytest.mark.parametrize("left", [1, 2, 3, 4, 5])
def test_killed_during_the_deletion_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: str, left: int) -> None:
    """For any files deleted before the settling process died the next one has the same result: nothing is charged."""
    ledger, _ = _released_until(tmp_path, monkeypatch, stop)
    _dies(monkeypatch)
    real, calls = Path.unlink, 0

    def unlink(self: Path, *given: object, **more: object) -> None:
        nonlocal calls
        calls += 1
        if calls > left:
            raise _Killed
        real(self)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", unlink)
        if left < 5:
            with pytest.raises(_Killed):
                Ledger(ledger).datasets()
        else:  # all is deleted, and the ledger is not updated any more
            patched.setattr("anonkit.ledger.store.set_state", _die)
            with pytest.raises(_Killed):
                Ledger(ledger).datasets()
    assert _standing(ledger) == (["rolled back"], 0.0)


def _die(*given: object) -> None:
    raise _Killed


def test_a_disk_that_is_not_there_cannot_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prepared release may come back with the disk: it counts until then."""
    ledger, _ = _released_until(tmp_path, monkeypatch, "publishing")
    _dies(monkeypatch)
    (tmp_path / "data").rename(tmp_path / "unmounted")
    assert _standing(ledger) == (["reserved"], 0.5)
    (tmp_path / "unmounted").rename(tmp_path / "data")
    assert _standing(ledger) == (["rolled back"], 0.0)


def test_on_another_host_it_counts_until_it_is_settled_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A container has another name each time: anyone who sees its folder says that it has ended."""
    ledger, staged = _released_until(tmp_path, monkeypatch, "publishing")
    _dies(monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(liveness, "_machine", lambda: "elsewhere pid:[1]")
        assert _standing(ledger) == (["reserved"], 0.5)
        assert run(commands, ["ledger", str(ledger)], "anonkit") == 0
        assert f"interrupted on {socket.gethostname()}: counted as spent" in capsys.readouterr().out
        assert (staged / "out.parquet").exists()
        assert run(commands, ["ledger", str(ledger), "--settle"], "anonkit") == 0
        assert "release 1 is rolled back" in capsys.readouterr().err
    assert not list(staged.iterdir())
    assert _standing(ledger) == (["rolled back"], 0.0)


def test_readers_settle_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither validate nor report deletes what is aside: only who has the ledger may."""
    anonkit.release(
        bank_customers(60, seed=1),
        method="rr",
        epsilon=0.5,
        policy=bank_customers_policy(),
        output=tmp_path / "data" / "out.parquet",
        ledger=tmp_path / "ledger.sqlite",
        budget=1.0,
    )
    staging = Staging(tmp_path / "data", "out", clears=False)
    (staging.folder / "out.parquet").write_text("prepared")
    _dies(monkeypatch)
    anonkit.validate(tmp_path / "data" / "out.parquet")
    run(commands, ["report", str(tmp_path / "data" / "out.parquet")], "anonkit")
    assert (staging.folder / "out.parquet").exists()


def test_no_other_folder_is_ever_cleared(tmp_path: Path) -> None:
    """A line of a ledger that names another folder deletes nothing."""
    for name in ("data", ".data", ".out.anonkit-x-00000000"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("mine")
        assert not atomic.cleared(tmp_path / name)
        assert (tmp_path / name / "mine").exists()
    (tmp_path / ".out.anonkit-1-00000000").symlink_to(tmp_path / "data")
    assert not atomic.cleared(tmp_path / ".out.anonkit-1-00000000")
    assert (tmp_path / "data" / "mine").exists()


PARAMS: dict[str, Any] = {
    "format": "anonkit-release-1",
    "method": "mondrian",
    "model": {"k": 5},
    "recoding": {"columns": ["age"]},
    "max_suppression": 0.1,
    "created": "2026-01-01",
}


def test_what_is_kept_comes_back() -> None:
    """The keys that recode and suppress, and nothing of when or where."""
    packed = pack(PARAMS)
    assert packed is not None
    assert unpacked(packed) == {key: PARAMS[key] for key in ("method", "model", "recoding", "max_suppression")}


@pytest.mark.parametrize("absent", ["recoding", "model"])
def test_a_release_without_a_recoding_is_not_kept(absent: str) -> None:
    """Noise has neither."""
    assert pack({key: value for key, value in PARAMS.items() if key != absent}) is None


def test_the_digest_is_of_what_decides_about_rows() -> None:
    """Order of keys and what is not kept change nothing; k does."""

    def digest(params: dict[str, Any]) -> bytes:
        packed = pack(params)
        assert packed is not None
        return digest_of_packed(packed)

    assert len(digest(PARAMS)) == 16
    assert digest(dict(reversed(PARAMS.items()))) == digest(PARAMS) == digest({**PARAMS, "created": "later"})
    assert digest({**PARAMS, "model": {"k": 6}}) != digest(PARAMS)
