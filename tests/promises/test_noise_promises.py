"""Sentences of a promise never say more than was promised: figures are exact, or rounded to the cautious side."""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anonkit.promises.anonymous_classes import Diversity, KAnonymity
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.noise_promises import CentralDP, LocalDP, allowance_words, loss_words, times_words
from anonkit.report.wording import shuffle_words

EPSILONS = st.floats(1e-6, 40)
SHARES = st.floats(0, 1, exclude_min=True)


def figure(pattern: str, text: str) -> Decimal:
    """The one figure of a sentence."""
    found = re.search(pattern.replace("#", r"([0-9][0-9,.]*(?:e[+-]?[0-9]+)?)"), text)
    assert found, text
    return Decimal(found[1].replace(",", "").rstrip("."))


def factor_of(epsilon: float) -> Decimal:
    """e to the epsilon, with thirty digits."""
    with localcontext() as context:
        context.prec = 30
        return Decimal(epsilon).exp() * (1 - Decimal("1e-12"))


def stated(**models: float) -> str:
    """The sentence on one model of diversity."""
    diversity = Diversity(**models)
    return KAnonymity(k=2, quasi_identifiers=("q",), sensitive=("s",), diversity=diversity).statement()


@given(share=st.floats(0, 1, exclude_min=True, exclude_max=True))
@example(share=0.125)
@example(share=0.004)
@example(share=0.996)
def test_the_largest_share_is_not_told_smaller_than_it_may_be(share: float) -> None:
    """One person in eight is 12.5 %, not 12 %; hardly anybody is not nobody."""
    assert figure("in more than #% of", stated(alpha=share)) == Decimal(repr(share)) * 100


@given(value=st.floats(1, 1000))
@example(value=1.2345678)
def test_diversity_is_told_as_it_was_asked(value: float) -> None:
    """Neither more values nor more even ones than were requested."""
    assert figure("at least # different", stated(l=value)) == Decimal(repr(value))
    assert figure("as evenly as # equally", stated(entropy_l=value)) == Decimal(repr(value))
    diversity = Diversity(recursive=(value, 3))
    text = KAnonymity(k=2, quasi_identifiers=("q",), sensitive=("s",), diversity=diversity).statement()
    assert figure(r"recursive \(#, 3\)", text) == Decimal(repr(value))


@given(distance=SHARES)
def test_closeness_is_told_as_it_was_asked(distance: float) -> None:
    """Not closer than was requested."""
    assert figure("a distance of # of", stated(t=distance)) == Decimal(repr(distance))


@given(epsilon=EPSILONS)
@example(epsilon=math.log(1_040_000))
def test_the_factor_of_a_promise_is_rounded_up(epsilon: float) -> None:
    """e to the epsilon as every kind of differential privacy says it, small and large, and by at most a twentieth."""
    for words, promise in (
        ("a factor of #. This", CentralDP(epsilon=epsilon)),
        ("# times", LocalDP(attributes={"a": epsilon}, epsilon=epsilon)),
        ("a factor of #, plus", ApproximateDP(epsilon=epsilon, delta=1e-6)),
    ):
        told = figure(words, promise.statement())
        assert factor_of(epsilon) <= told <= factor_of(epsilon) * Decimal("1.1") + Decimal("0.01")


@given(epsilon=EPSILONS)
@example(epsilon=12.34561)
@example(epsilon=39.123456)
def test_the_epsilon_of_a_column_alone_is_rounded_up(epsilon: float) -> None:
    """If a whole row has no bound, the largest epsilon of a column is not rounded down."""
    text = LocalDP(attributes={"a": epsilon, "b": math.inf}, epsilon=math.inf, clear=("b",)).statement()
    told = figure("e to the # times", text)
    assert Decimal(epsilon) * (1 - Decimal("1e-12")) <= told <= Decimal(epsilon) + Decimal("0.00002")


@given(delta=st.floats(1e-12, 0.5))
@example(delta=1.4e-6)
def test_the_delta_of_a_promise_is_rounded_up(delta: float) -> None:
    """The delta is not rounded down, in the statement and for the shuffled file."""
    block = {"applies": True, "epsilon": 1.0, "delta": delta, "rows": 10, "assumption": "None."}
    least = Decimal(delta) * (1 - Decimal("1e-9"))
    assert least <= figure("δ = # when", shuffle_words(block))
    assert least <= figure("plus #. That", ApproximateDP(epsilon=1.0, delta=delta).statement())


@pytest.mark.parametrize(("share", "said"), [(0.8, "80%"), (0.05, "5%"), (1e-7, "0.00001%")])
def test_shares_are_plain_percentages(share: float, said: str) -> None:
    """No zeros behind the point, no powers of ten."""
    assert f"more than {said} of" in stated(alpha=share)


LOSSES = st.floats(1e-12, 1e6)


@given(loss=LOSSES)
@example(2.05e-08)
@example(3.9999999795)
@example(0.07)
@example(0.3)
def test_a_loss_in_words_is_never_less_than_it_is_and_an_allowance_never_more(loss: float) -> None:
    """Both with six digits, and both the number itself where six digits are enough to say it."""
    exact = Decimal(repr(loss))
    up, down = Decimal(loss_words(loss)), Decimal(allowance_words(loss))
    assert down <= exact <= up
    assert up - down <= exact * Decimal("1e-5")
    if len(exact.normalize().as_tuple().digits) <= 6:
        assert up == down == exact


def test_no_loss_and_a_loss_without_bound_have_words() -> None:
    """Zero stays zero, and infinity is not a number."""
    assert (loss_words(0.0), allowance_words(0.0)) == ("0", "0")
    assert (loss_words(math.inf), allowance_words(math.inf)) == ("without bound", "without bound")


@given(st.floats(700, 1e5))
def test_a_factor_beyond_doubles_is_not_below_what_it_is(epsilon: float) -> None:
    """A row that answers a thousand questions loses more than a double can say."""
    stated = Decimal(times_words(epsilon))
    assert factor_of(epsilon) <= stated <= factor_of(epsilon) * Decimal("1.11")
