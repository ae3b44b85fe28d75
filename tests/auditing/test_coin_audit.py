"""The lower bounds on epsilon of drawn rows: close to a true claim, above a false one, at the claimed delta."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from checks.drawn_tables import POLICY, UNTARGETED, people
from privacy.mutation import forget

import anonkit
from anonkit.auditing.attacks.success_rates import BELOW, REFUTED, WEAK, LossBound
from anonkit.auditing.coin_audit import Scene, toss_again
from anonkit.mechanisms.privacy_amplification import delta_of
from anonkit.policy.column_declarations import Column, Role
from tests.privacy.test_central_mutants import Mutant, mutate

DRAWN, CHOSEN = "which rows are drawn", "how each column is shown"
TIGHT: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0097}
"""k = 6 needs hardly less than this delta, so that little of the claim is left over."""
LOUD: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-3}
"""The choice has an epsilon of 2, which a thousand releases suffice to detect."""
METHOD = "anonkit.methods.safepub:SafePub."


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Clear the caches, so that no test uses results of a mutant."""
    forget()
    yield
    forget()


def released(policy: Any = POLICY, **asked: Any) -> anonkit.Release:
    """Release people by coins."""
    return anonkit.release(people(12_800), policy=policy, method="safepub", k=2, ledger=None, **asked)


def audited(release: anonkit.Release, runs: int) -> tuple[LossBound, dict[str, dict[str, Any]]]:
    """Audit a release; return the bound, and those of its parts."""
    found = toss_again(release.report, release.params, runs=runs)
    return found, {str(part["name"]): dict(part) for part in found.columns}


@pytest.mark.slow
def test_the_coins_show_most_of_their_claim_and_never_more() -> None:
    """Three quarters of epsilon 1 are for the rows: more than seven tenths of that."""
    found, parts = audited(released(**TIGHT), 400)
    assert found.verdict == parts[DRAWN]["verdict"] == BELOW
    assert found.to_dict()["delta"] == TIGHT["delta"]
    assert parts[DRAWN]["claimed"] == pytest.approx(0.75)
    assert 0.7 * 0.75 < parts[DRAWN]["lower_bound"] < 0.75
    assert 0 < found.surest < found.lower_bound < found.most_measurable


@pytest.mark.slow
def test_more_releases_show_seven_tenths_of_the_whole_claim() -> None:
    """At 95 % confidence; at 99.9 % seven tenths of what the rows have."""
    found, _ = audited(released(**TIGHT), 1000)
    assert found.verdict == BELOW
    assert 0.7 < found.lower_bound < 1.0
    assert 0.7 * 0.75 < found.surest < found.lower_bound


def test_the_bound_is_one_at_the_claimed_delta() -> None:
    """The tables were made for it: k is the fewest that keep delta, and hardly more than that."""
    release = released(**TIGHT)
    scene, draw = Scene.of(release.report, release.params), release.params["draw"]
    assert scene.delta == TIGHT["delta"]
    assert 0.98 * scene.delta < delta_of(draw["sampled"], scene.k, draw["rate"]) <= scene.delta


@pytest.mark.slow
def test_the_choice_shows_most_of_its_claim_and_never_more() -> None:
    """A quarter of epsilon 8 chooses: seven tenths of that are shown by a thousand releases."""
    found, parts = audited(released(**LOUD), 1000)
    assert found.verdict == parts[CHOSEN]["verdict"] == BELOW
    assert 0.7 * 2 < parts[CHOSEN]["lower_bound"] < 2.0
    assert 0 <= parts[DRAWN]["lower_bound"] < 6.0


MUTANTS: dict[str, tuple[Mutant, dict[str, Any], int, str]] = {
    "no class is left out": (
        Mutant(where=METHOD + "release", old="if small.num_rows else sampled_rows", new="if False else sampled_rows"),
        TIGHT, 200, DRAWN),
    "the number of rows is told": (
        Mutant(where=METHOD + "release", old='"format": FORMAT,',
               new='"format": FORMAT, "rows": sum(batch.num_rows for batch in source.batches()),'), TIGHT, 200, CHOSEN),
}  # fmt: skip


@pytest.mark.quick_cases("the number of rows is told")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound of the part that it breaks is above what that part claims."""
    refuted(MUTANTS[name], monkeypatch)


def refuted(given: tuple[Mutant, dict[str, Any], int, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Audit a sound release by a package with one line changed."""
    mutant, asked, runs, part = given
    release = released(**asked)
    with monkeypatch.context() as patch:
        mutate(patch, mutant)
        found, parts = audited(release, runs)
    assert found.verdict == parts[part]["verdict"] == REFUTED
    assert parts[part]["lower_bound"] > parts[part]["claimed"]


SLOW: dict[str, tuple[Mutant, dict[str, Any], int, str]] = {
    "twice as many rows are drawn": (
        Mutant(where="anonkit.k_anonymity.generalization_schemes:DrawRows.__call__", old="< self.sampled)",
               new="< 2 * self.sampled)"), TIGHT, 200, DRAWN),
    "classes of one row less are shown": (
        Mutant(where=METHOD + "release", old="small_classes(sampled_rows, draw.schema.names, k)",
               new="small_classes(sampled_rows, draw.schema.names, k - 1)"), TIGHT, 1000, DRAWN),
    "the choice is made at twice the rate": (
        Mutant(where="anonkit.methods.safepub:_chosen", old="choice.rate", new="2 * choice.rate"), LOUD, 1000, CHOSEN),
    "k is one less than delta needs, and the report has the right one": (
        Mutant(where=METHOD + "_sampling_words", old="class_size(sampled, units, self.delta, self.k)",
               new="class_size(sampled, units, self.delta, self.k) - 1"), TIGHT, 1000, DRAWN),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_mutant_is_refuted_by_many_releases(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit also refuses what the exact law refuses in seconds (`tests/privacy/test_drawn_law.py`)."""
    refuted(SLOW[name], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [UNTARGETED, pytest.param(POLICY, marks=pytest.mark.slow)])
def test_people_and_releases_of_any_purpose_are_audited(policy: Any) -> None:
    """With a unit column every person has two rows, of which one is used: nothing more is shown."""
    columns = {**policy.columns, "who": Column(name="who", role=Role.UNIT)}
    found, parts = audited(released(replace(policy, columns=columns), **TIGHT), 120)
    assert found.verdict == BELOW
    assert 0 < parts[DRAWN]["lower_bound"] <= 0.75


@pytest.mark.slow
def test_a_release_of_nothing_is_an_answer_and_a_small_epsilon_too_weak_an_attack() -> None:
    """The audit reports an attack that distinguishes nothing; large classes are fewer, so that tables stay small."""
    found, parts = audited(released(epsilon=0.1, delta=1e-9), 40)
    assert found.verdict == WEAK
    assert {part["verdict"] for part in parts.values()} == {WEAK}
    assert found.lower_bound == 0


@pytest.mark.slow
def test_the_audit_of_a_release_has_it_and_the_same_seed_gives_it_again() -> None:
    """Beside the attacks on the rows that are shown, in the JSON; 0 runs leave it out."""
    release = released(**TIGHT)
    found = [anonkit.audit(release, people(), attacks=10, runs=40, seed=3).to_dict()["epsilon"] for _ in range(2)]
    assert found[0] == found[1] == json.loads(json.dumps(found[0]))
    assert [part["name"] for part in found[0]["columns"]] == [DRAWN, CHOSEN]
    assert anonkit.audit(release, people(), attacks=10, runs=0).epsilon is None
