"""Protection and risk in the words of profiles: from the public report alone, with states that can be counted."""

from __future__ import annotations

from typing import Any

from anonkit.pipeline.profiles.promised_protection import (
    EvidenceState,
    Item,
    Profile,
    columns_left_out,
    figure,
    is_differentially_private,
    ledger_item,
    listed,
    promise_words,
    recipients_item,
    risk_words,
)

COUNTED: dict[str, Any] = {
    "budget": {"epsilon": None},
    "guarantee": {"unit": "one row", "parameters": {"k": 5}},
    "disclosure_risk": {"prosecutor": {"max": 0.2, "mean": 0.1}},
    "columns": [{"name": "id", "role": "identifier", "action": "dropped"}, {"name": "age", "action": "generalized"}],
    "ledger": {"booked": True, "release_of_dataset": 2},
    "recipients": ["the ministry"],
}
NOISY: dict[str, Any] = {
    "budget": {"epsilon": 1.0, "delta": 1e-6},
    "guarantee": {"unit": "one row", "parameters": {}},
    "columns": [],
}


def test_the_promise_has_its_figure_and_its_unit() -> None:
    """k, or epsilon with delta; and what each means for a person."""
    assert promise_words(COUNTED) == "k-anonymity with k = 5, for one row."
    assert promise_words(NOISY) == "Differential privacy with epsilon 1, delta 1e-06, for one row."
    assert "1 in 5 at most, on average 1 in 10" in risk_words(COUNTED)
    assert "more than 2.72 times as likely" in risk_words(NOISY)
    assert is_differentially_private(NOISY)
    assert not is_differentially_private(COUNTED)


def test_what_is_not_in_the_report_is_open() -> None:
    """Recipients and a ledger: shown where they are declared and booked."""
    for item in (recipients_item, ledger_item):
        assert item(COUNTED, "r").state is EvidenceState.EVIDENCE
        assert item(NOISY, "r").state is EvidenceState.OPEN
    assert figure(COUNTED, "ledger", "absent", "deeper") is None


def test_names_are_cut_where_they_are_many() -> None:
    """With the number of the others."""
    assert listed("abc", most=2) == "'a', 'b' and 1 more"
    assert columns_left_out(COUNTED) == "; 'id' of the source was left out"
    assert columns_left_out(NOISY) == ""


def test_states_are_counted_as_json() -> None:
    """Each as often as it occurs."""
    profile = Profile(
        name="p", title="t", source="s", items=[Item.shown("a", "x"), Item.open("b", "y"), Item.against("c", "z")]
    )
    document = profile.to_dict()
    assert document["counts"] == {"evidence": 1, "open": 1, "against": 1}
    assert [item["state"] for item in document["items"]] == ["evidence", "open", "against"]
