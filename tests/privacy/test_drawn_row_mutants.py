"""One-line mutations of true rows under both promises: refused by the release, by validation, or by a named test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from checks.drawn_tables import EASY, POLICY, people
from privacy.mutation import forget

import anonkit
from anonkit.checks.validation import validate
from anonkit.errors import GuaranteeError, ReleaseFormatError
from tests.k_anonymity import test_generalization_schemes as scores
from tests.methods import test_safepub as drawn
from tests.privacy.test_central_mutants import Mutant, mutate

METHOD = "anonkit.methods.safepub:SafePub."
REFUSED = {
    "the choice has half of epsilon": Mutant(
        where=METHOD + "_choice", old="Fraction(self.epsilon) * SEARCH_SHARE",
        new="Fraction(self.epsilon) * 2 * SEARCH_SHARE"),
    "the choice costs nothing": Mutant(where=METHOD + "_units", old=" - draw_units(choice)", new=""),
    "a row moves scores with a target in one direction": Mutant(
        where="anonkit.mechanisms.accounting:sensitivity_of", old="2 if has_target else 1", new="1"),
    "k is one less than delta needs": Mutant(
        where=METHOD + "_sampling_words", old="class_size(sampled, units, self.delta, self.k)",
        new="class_size(sampled, units, self.delta, self.k) - 1"),
    "delta is a thousandth": Mutant(
        where="anonkit.mechanisms.privacy_amplification:delta_of", old="return worst", new="return worst / 1000"),
    "delta is that of few classes": Mutant(
        where="anonkit.mechanisms.privacy_amplification:_worst_of", old="1 - math.exp(loss)",
        new="1 - 2 * math.exp(loss)"),
    "classes of a third of the size are shown": Mutant(
        where=METHOD + "release", old='engine.small_classes(sampled_rows, draw.schema.names, k)',
        new='engine.small_classes(sampled_rows, draw.schema.names, k // 3)'),
}  # fmt: skip
SPARSE = {**EASY, "epsilon": 2.0, "delta": 1e-3}
"""So that k is above what is requested."""
LARGE_K = 200
"""Of the four kinds of people two are drawn some 160 times, two some 260 times."""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Clear the caches, so that neither a mutant nor the sound package uses results of the other."""
    forget()
    yield
    forget()


def release_and_validate(output: Path, k: int) -> None:
    """Release people, and let validation refuse it."""
    anonkit.release(people(), policy=POLICY, output=output, **{**SPARSE, "k": k})
    broken = [check.name for check in validate(output).checks if not check.passed]
    if broken:
        raise GuaranteeError(f"refused by validation: {broken}")


@pytest.mark.parametrize("name", REFUSED)
def test_a_mutant_is_refused_by_the_release_or_by_validation(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release with one line changed is not written, or does not validate."""
    with monkeypatch.context() as patch:
        mutate(patch, REFUSED[name])
        with pytest.raises((GuaranteeError, ReleaseFormatError)):
            release_and_validate(tmp_path / "out.parquet", LARGE_K if "shown" in name else 5)


@pytest.mark.parametrize("k", [5, LARGE_K])
def test_the_same_release_without_a_mutant_is_made(k: int, tmp_path: Path) -> None:
    """So that it is the mutation that is refused."""
    release_and_validate(tmp_path / "out.parquet", k)


def _one_row_moves_scores() -> None:
    for needed in (1, 3):
        scores.test_one_row_moves_no_score_by_more_than_the_width_says(needed)


LAWS: dict[str, tuple[Mutant, Callable[[], None]]] = {
    "twice as many rows are drawn": (
        Mutant(where="anonkit.k_anonymity.generalization_schemes:DrawRows.__call__", old="< self.sampled)",
               new="< 2 * self.sampled)"), drawn.test_a_class_is_shown_by_the_binomial_law_from_k_on),
    "a score counts each row twice": (
        Mutant(where="anonkit.k_anonymity.generalization_schemes:_class_score", old="whole << STEP_BITS",
               new="2 * whole << STEP_BITS"), _one_row_moves_scores),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name.startswith("twice") else ()) for name in LAWS]
)
def test_a_mutant_of_the_law_is_refused_by_its_test(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named test passes on the unchanged code, and fails with one line changed."""
    mutant, test = LAWS[name]
    test()
    with monkeypatch.context() as patch:
        mutate(patch, mutant)
        with pytest.raises(AssertionError):
            test()
