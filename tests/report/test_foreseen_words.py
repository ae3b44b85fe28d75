"""A plan under noise in sentences: the account first, then that rows are simulated; the owner's lines."""

from __future__ import annotations

from typing import Any

from anonkit.report.foreseen_words import account_sentences, foreseen_sentences, left_out_lines, owner_lines


def text(sentences: Any) -> list[str]:
    """Sentences without their marks."""
    return ["".join(phrase.text for phrase in sentence) for sentence in sentences]


def test_the_account_says_what_would_be_booked() -> None:
    """The cost, the number of the release, all together, and the budget with its neighbours."""
    report = {
        "budget": {"epsilon": 0.5, "delta": None},
        "ledger": {
            "release_of_dataset": 3,
            "totals": [{"epsilon": 1.5, "delta": 0, "neighbours": "replaced", "unit": None}],
            "epsilon_budget": 2.0,
            "budget_neighbours": {"neighbours": "replaced", "unit": "patient"},
        },
    }
    booked, together, budget = text(account_sentences(report))
    assert booked == "Nothing is booked now. The release would be: epsilon 0.5, as release 3 of its dataset."
    assert "epsilon 1.5, for one row replaced" in together
    assert budget == "The budget is epsilon 2, for one value of patient replaced."
    (alone,) = text(account_sentences({"budget": {}, "ledger": None}))
    assert "no ledger" in alone


def test_simulated_rows_are_said_to_be_simulated() -> None:
    """Or why nothing can be foreseen; nothing where nothing was."""
    assert list(foreseen_sentences({})) == []
    (reason,) = text(foreseen_sentences({"foreseen": {"not_foreseen": "domains are read from it"}}))
    assert reason.endswith("domains are read from it.")
    first, second = text(foreseen_sentences({"foreseen": {"simulated_rows": 500, "refused": "too few"}}))
    assert first.startswith("Simulated: 500 rows were drawn from the declared domains")
    assert second == "Nothing is known about these rows: too few."


def test_rows_left_out_are_counted_by_class() -> None:
    """Those that stand out say so; nothing where no row is left out."""
    block = {
        "counted": "rows", "target": "ill", "left_out": 5, "in": 100, "share": 0.05, "more_classes": 2,
        "classes": [
            {"class": "yes", "left_out": 5, "in": 10, "share": 0.5, "stands_out": True},
            {"class": "no", "left_out": 0, "in": 90, "share": 0.0, "stands_out": False},
        ],
    }  # fmt: skip
    (line,) = left_out_lines(block)
    assert line.startswith("rows left out, by class of ill: yes 5 of 10 (50%), clearly more than of the others")
    assert line.endswith("; 3 more classes; of the whole table 5 of 100 (5%)")
    none = {**block, "classes": [block["classes"][1]]}  # type: ignore[index]
    assert list(left_out_lines(none)) == []
    assert owner_lines({}) == []
    assert owner_lines({"rows_breaking_rules": {"city determines land": 3}})[0].endswith(
        "3; they were counted as they are"
    )
