"""The owner's answers go before guesses, and contradict neither each other nor the table."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.drafting.owner_answers import GuessedRoles, OwnerAnswers, refuse_unknown
from anonkit.errors import AnonkitError, ChoiceError, PolicyError
from anonkit.policy.column_declarations import Role

GUESSED = {
    "id": Role.IDENTIFIER,
    "age": Role.QUASI_IDENTIFIER,
    "city": Role.QUASI_IDENTIFIER,
    "illness": Role.SENSITIVE,
    "income": Role.TARGET,
}


def test_answers_take_the_place_of_guesses() -> None:
    """A guessed target that nobody confirmed is a quasi-identifier; identifiers stay out."""
    roles = OwnerAnswers(sensitive=("city",), target="illness").roles(GUESSED)
    assert roles == {
        "id": Role.IDENTIFIER,
        "age": Role.QUASI_IDENTIFIER,
        "city": Role.SENSITIVE,
        "illness": Role.TARGET,
        "income": Role.QUASI_IDENTIFIER,
    }
    assert OwnerAnswers(target="illness", sensitive=("illness",)).roles(GUESSED)["illness"] is Role.TARGET
    assert GuessedRoles(roles=GUESSED, secrets=(), persons=()).of(Role.QUASI_IDENTIFIER) == ["age", "city"]


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ({"unit": ("id",), "identifiers": ("id",)}, PolicyError, "cannot be both unit and identifier"),
        ({"sensitive": ("ilness",)}, PolicyError, "is not in the table"),
        ({"keep": ("id",)}, ChoiceError, "cannot be kept"),
        ({"keep": ("age",), "unit": ("age",)}, ChoiceError, "cannot be kept"),
    ],
)
def test_answers_that_contradict_each_other_are_refused(
    answers: dict[str, Any], error: type[AnonkitError], message: str
) -> None:
    """By the column."""
    with pytest.raises(error, match=message):
        OwnerAnswers(**answers).roles(GUESSED)


def test_only_a_table_for_anyone_needs_domains() -> None:
    """Differential privacy is recommended for it."""
    assert OwnerAnswers(recipient="anyone").needs_domains
    assert not OwnerAnswers(recipient="named").needs_domains
    with pytest.raises(PolicyError) as refusal:
        refuse_unknown("agee", GUESSED)
    assert "age" in str(refusal.value.hint)
