"""For any rows a release discloses no more of them than is charged: looks fixed to one table give equal releases.

Every private look goes through one of four functions: two that add noise to exact counts, two that choose by exact
scores. Here these are given what a first table made them see, whatever table is released, and the same noise. All that
a release of another table leaves (every file, each byte of it, what is printed, the exit code) must then be what the
first one left, and there must be as many looks of the same shape. A count that reached the output beside the account,
a message about a cell, a branch by an exact number of rows: each would be a difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anonkit.report.document
from anonkit.cli import anonkit as command
from anonkit.cli.boundary import run
from anonkit.dp_trees.marginals.measurement_plan import private_best, private_tree
from anonkit.mechanisms.exact_samplers import exponential_mechanism, gaussian_counts, noisy_counts, permute_and_flip
from anonkit.methods import method_class
from anonkit.methods.dp_nb import DPNB
from anonkit.parameters import parameters_of
from anonkit.randomness import SECURE, Randomness
from tests.contract.test_methods import CENTRAL
from tests.privacy.test_odd_tables import ODD, SETTINGS, SOURCES, Row, policy_of, toml_of

LOOKS = (noisy_counts, gaussian_counts, permute_and_flip, exponential_mechanism)
SEEN: list[Row] = [(f"p{at}", "12"[at * at % 5 % 2], str(at % 9), str(at * at % 7 % 2)) for at in range(400)]
"""Rows that every look is made to see: enough that methods divide, choose and learn."""
QUICK = {"dp-forest", "dp-marginals", "dp-nb", "dp-tables"}
OTHERS = ("no rows", "mixed columns", "one person")
"""Together they look at most properties of a table without counting it."""
KEY = bytes(range(32))


class BlindLooks:
    """Looks that note what they are shown of the first table, and see that again and again ever after."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []
        self.taken = 0
        self.notes = True

    def blindfold(self, look: Callable[..., Any]) -> Callable[..., Any]:
        """Return the look which draws the same for every table."""

        def blind(exact: Any, *rest: Any, **more: Any) -> Any:
            if self.notes:
                self.seen.append(np.array(exact))
            assert self.taken < len(self.seen), "a look more than at the first table"
            shown = self.seen[self.taken]
            assert shown.shape == np.shape(exact), "a look at so many numbers as the rows say"
            self.taken += 1
            return look(shown.copy(), *rest, **more)

        return blind

    def begin(self, *, notes: bool) -> None:
        """A table is released: the first one, or another."""
        self.taken, self.notes = 0, notes
        if notes:
            self.seen = []


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> BlindLooks:
    """Blind looks in every module that draws, one key for all that is drawn, one moment at which all is made."""
    for method in CENTRAL:
        method_class(method)
    looks = BlindLooks()
    blind = {look: looks.blindfold(look) for look in LOOKS}
    for name, module in list(sys.modules.items()):
        if not name.startswith("anonkit.") or module is None:
            continue
        for held, value in list(vars(module).items()):
            if callable(value) and value in LOOKS:
                monkeypatch.setattr(module, held, blind[value])
            elif isinstance(value, dict):
                for key, one in list(value.items()):
                    if callable(one) and one in LOOKS:
                        monkeypatch.setitem(value, key, blind[one])
    for function in (private_tree, private_best):
        defaults = tuple(blind[one] if one in LOOKS else one for one in function.__defaults__ or ())
        monkeypatch.setattr(function, "__defaults__", defaults)

    class Moment(datetime):
        """A stopped clock."""

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2026, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(anonkit.report.document, "datetime", Moment)
    monkeypatch.setattr(Randomness, "secure", lambda: Randomness(KEY, SECURE))
    monkeypatch.delenv("ANONKIT_DEBUG", raising=False)
    return looks


def left_behind(words: list[object], out: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Return all that anyone who is handed a release, or sees it made, can read; nothing of it stays."""
    out.parent.mkdir()
    capfd.readouterr()
    code = run(command, [str(word) for word in words], "anonkit")
    said = capfd.readouterr()
    left: dict[str, object] = {"exit code": code, "output": said.out, "messages": said.err}
    for file in sorted(out.parent.rglob("*")):
        if file.is_file():
            left[str(file.relative_to(out.parent))] = file.read_bytes()
            file.unlink()
    for folder in sorted(out.parent.rglob("*"), reverse=True):
        folder.rmdir()
    out.parent.rmdir()
    return left


def options_of(method: str) -> list[dict[str, Any]]:
    """Return every choice, with a delta too, rows public or not, several rows a person."""
    known = {one.name: one for one in parameters_of(method_class(method))}
    options: list[dict[str, Any]] = [{}, {"rows_per_unit": 3}]
    for name in ("adjacency", "as_", "score"):
        options += [{name: choice} for choice in (known[name].choices or () if name in known else ())]
    if "delta" in known:
        options += [{"delta": 1e-3, "epsilon": 8.0}, {"delta": 1e-3, "rows_per_unit": 2}]
    if "n_rows" in known:
        options += [{"n_rows": 30}, {"n_rows": 5000}]
    return [{"max_rows": 20, **option} for option in options] if "max_rows" in known else options


def differences(
    method: str, option: dict[str, Any], others: list[str], folder: Path, looks: BlindLooks, capfd: Any
) -> dict[str, list[str]]:
    """Return for each other table what of its release differs from that of the rows seen."""
    policy, out = folder / "policy.toml", folder / "released" / "rows.parquet"
    policy.write_text(toml_of(policy_of(method)))
    told = {**SETTINGS[method], **option}
    asked = [word for name, value in told.items() for word in (f"--{name.rstrip('_').replace('_', '-')}", value)]
    found, first = {}, None
    for name, rows in [("first", SEEN), *((other, ODD[other]) for other in others)]:
        looks.begin(notes=first is None)
        data = SOURCES["CSV"](rows, folder)
        words = ["release", data, out, "--method", method, "--policy", policy, "--no-ledger", "--json", *asked]
        left = left_behind(words, out, capfd)
        if first is None:
            first = left
            assert left["exit code"] == 0, left["output"]
            assert looks.taken, "nothing was looked at"
        assert looks.taken == len(looks.seen), "a look less than at the first table"
        different = [key for key in sorted({*first, *left}) if first.get(key) != left.get(key)]
        if different:
            found[name] = different
    return found


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CENTRAL]
)
def test_nothing_differs_but_by_what_is_charged(
    method: str, looks: BlindLooks, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Files to the byte, words, exit code, and how often and at how much was looked."""
    assert differences(method, options_of(method)[0], list(OTHERS), tmp_path, looks, capfd) == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("method", CENTRAL)
def test_nothing_differs_with_any_option(
    method: str, looks: BlindLooks, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of every odd table, with each option."""
    for option in options_of(method)[1:]:
        assert differences(method, option, list(ODD), tmp_path, looks, capfd) == {}, option


def test_a_number_of_rows_that_is_not_charged_is_seen(
    looks: BlindLooks, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test can fail: a method that discloses the number of rows, in a file or a message, differs in just that."""
    release = DPNB.release

    def disclosing(self: Any, source: Any, *rest: Any, **more: Any) -> Any:
        draft = release(self, source, *rest, **more)
        return replace(draft, notes=[*draft.notes, f"{source.n_rows} rows"])

    monkeypatch.setattr(DPNB, "release", disclosing)
    found = differences("dp-nb", {}, ["one row"], tmp_path, looks, capfd)
    assert "rows.report.json" in found["one row"]
    assert "rows.params.json" not in found["one row"]
