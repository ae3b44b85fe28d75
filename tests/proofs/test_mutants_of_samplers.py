"""The enumerations of the samplers can fail: one line changed, and the test that a lemma names refuses it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.privacy.mutation import Mutant, refusal

LAWS = "tests/mechanisms/test_exact_laws.py::"
GAUSSIAN = "tests/mechanisms/test_discrete_gaussian.py::"
NOISE, CHOICE = "mechanisms.exact_samplers:", "mechanisms.exact_samplers:"

MUTANTS: dict[str, Mutant] = {
    "a series that ends at the wrong parity": Mutant(
        where=NOISE + "_exp_fraction", old="k % 2 == 1", new="k % 2 == 0", arguments=(2,),
        refused_by=LAWS + "test_a_coin_of_the_alternating_series_is_decided_as_the_series_says"),
    "a coin that succeeds with f / (k + 1)": Mutant(
        where=NOISE + "_exp_fraction", old="np.full(alive.size, k, dtype", new="np.full(alive.size, k + 1, dtype",
        arguments=(3,), refused_by=LAWS + "test_a_coin_of_the_alternating_series_is_decided_as_the_series_says"),
    "a coin that compares with no more than": Mutant(
        where=NOISE + "_exp_fraction", old="words.fractions(alive.size) < fraction[alive]",
        new="words.fractions(alive.size) <= fraction[alive]", arguments=(1,),
        refused_by=LAWS + "test_a_coin_of_the_alternating_series_is_decided_as_the_series_says"),
    "the low half of a rate is lost": Mutant(
        where=NOISE + "bernoulli_exp", old="flat * (rate >> _HALF_BITS) + (low >> _HALF_BITS)",
        new="flat * (rate >> _HALF_BITS)", refused_by=LAWS + "test_the_coins_of_an_exponent_add_up_to_it_exactly"),
    "exponents are capped lower": Mutant(
        where=NOISE + "bernoulli_exp", old="min(_LARGEST_STEPS, (_ONE", new="min(_LARGEST_STEPS >> 1, (_ONE",
        refused_by=LAWS + "test_exponents_beyond_the_largest_are_those_of_the_largest"),
    "a rate that is one more": Mutant(
        where=NOISE + "geometric", old="// rate", new="// (rate + 1)",
        refused_by=LAWS + "test_a_geometric_number_is_an_offset_and_a_run_divided_by_the_rate"),
    "a zero of either sign": Mutant(
        where=NOISE + "discrete_laplace", old="~(negative & (size == 0))", new="size >= 0",
        refused_by=LAWS + "test_every_size_and_sign_is_one_integer_but_minus_zero"),
    "the first word beyond the last multiple is taken": Mutant(
        where=NOISE + "UniformStream.below",
        old="np.flatnonzero((words >= ceilings)", new="np.flatnonzero((words > ceilings)",
        refused_by=LAWS + "test_integers_below_a_bound_have_as_many_words_each"),
    "a candidate one step below always has head": Mutant(
        where=CHOICE + "permute_and_flip", old="mask & bernoulli_exp(gap, rate, words)",
        new="mask & (bernoulli_exp(gap, rate, words) | (gap == 1))", arguments=([2, 0, 1],),
        refused_by=LAWS + "test_the_code_of_permute_and_flip_has_its_law"),
    "the last head is taken": Mutant(
        where=CHOICE + "_uniform_member", old="<= rank[:, np.newaxis]", new="< heads.sum(axis=1, keepdims=True)",
        arguments=([0, 0],), refused_by=LAWS + "test_the_code_of_permute_and_flip_has_its_law"),
    "another proposal than the first accepted one": Mutant(
        where=CHOICE + "exponential_mechanism", old="accepted.argmax(axis=1)", new="accepted[:, ::-1].argmax(axis=1)",
        arguments=([2, 0, 1], None),
        refused_by=LAWS + "test_the_code_of_the_exponential_mechanism_has_its_law"),
    "a proposal that is too narrow": Mutant(
        where="mechanisms.exact_samplers:discrete_gaussian", old="rate * (2 * middle - 1)",
        new="rate * (2 * middle)", arguments=(1.2,),
        refused_by=GAUSSIAN + "test_the_code_of_the_sampler_has_its_law"),
    "a coin around another middle": Mutant(
        where="mechanisms.exact_samplers:discrete_gaussian", old="beyond * (beyond + 1)", new="beyond * beyond",
        arguments=(1.2,), refused_by=GAUSSIAN + "test_the_code_of_the_sampler_has_its_law"),
    "a carry of the exponent is lost": Mutant(
        where=NOISE + "bernoulli_exp_exactly", old="+ (middle >> half)", new="",
        refused_by=GAUSSIAN + "test_the_coins_of_any_exponent_add_up_to_it_exactly"),
    "words that tie keep their order": Mutant(
        where="randomness:Randomness.permutation", old="bool(np.all(ranked[1:] != ranked[:-1]))", new="True",
        refused_by=LAWS + "test_every_order_of_rows_has_as_many_words"),
    "a word on a border is the copy before": Mutant(
        where="dp_trees.plan:PoissonBootstrap.groups", old='side="right"', new='side="left"',
        refused_by=LAWS + "test_every_number_of_copies_has_exactly_its_words"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_an_exact_test_refuses_its_mutant(name: str, tmp_path: Path) -> None:
    """A test that passes on the sound package fails with one line changed."""
    mutant = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in inspect.signature(_test_of(mutant)).parameters:
            mutant = replace(mutant, arguments=(*mutant.arguments, patch))
        assert refusal(mutant, {}, tmp_path)


def _test_of(mutant: Mutant) -> Callable[..., None]:
    """The test that refuses a mutant."""
    file, _, name = mutant.refused_by.partition("::")
    test: Callable[..., None] = getattr(importlib.import_module(".".join(Path(file).with_suffix("").parts)), name)
    return test
