"""The first facts for a reviewer: put into words from the report, the audit and the earlier report."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.report.first_facts import first_facts, text_of
from anonkit.report.markdown import attack_rows, change_words, difference, ledger_words, risk_words
from anonkit.report.page import render_page

TABLE, POLICY = bank_customers(300, seed=1), bank_customers_policy()
NONE = {"disclosure_risk": {}, "guarantee": {"kind": "none"}}
"""Of a report what is said of its risk where nothing is counted."""
RATES = {"identity": 0.9, "renamed": 0.8, "shuffled": 0.0}


def release(**given: Any) -> anonkit.Release:
    """Release the customers, in memory."""
    return anonkit.release(TABLE, policy=POLICY, ledger=None, **given)


@pytest.fixture(scope="module")
def reports() -> dict[str, dict[str, Any]]:
    """One report of each kind of promise."""
    made = {
        "k": {"method": "mondrian", "k": 5},
        "k10": {"method": "mondrian", "k": 10},
        "central": {"method": "dp-nb", "epsilon": 1.0},
        "boundless": {"method": "ppnb", "p_keep": 0.35},
    }
    return {name: dict(release(**given).report) for name, given in made.items()}


def attack(risk: float, verdict: str, **more: Any) -> dict[str, Any]:
    """An attack as in the document of an audit."""
    told = {"attack_rate": 0.5, "control_rate": 0.2, "risk": risk, "ci": [risk / 2, 2 * risk], "n_attacks": 100}
    return {**told, "verdict": verdict, "controls": RATES, **more}


def audit(**attacks: Any) -> dict[str, Any]:
    """An audit with two attacks."""
    told = {"singling_out": attack(0.01, "risk"), "inference": attack(0.375, "risk", secret="income")}
    return {**told, "epsilon": None, "attacker_knows": ["age"], **attacks}


def words(page: str) -> str:
    """The text of a page, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.partition("</style>")[2])).split())


@pytest.mark.slow
def test_who_is_protected_is_said_for_every_promise(reports: dict[str, Any]) -> None:
    """The unit and the neighbours; where no epsilon bounds a row, no row is said to be protected."""
    assert of_people(reports["k"]).startswith("Each row counts as one person")
    assert "add or remove one record" in of_people(reports["central"])
    assert of_people(reports["boundless"]).startswith("No whole row")


def test_the_largest_risk_has_its_control_and_interval() -> None:
    """The attack that finds most, not the first; what was too weak is named."""
    told = risks(NONE, audit(linkability=attack(0.6, "attack too weak")))
    assert told[0].startswith("Inference of income: 37.5% of the people (18.8% to 75%, 95% interval).")
    assert "its control for 20%" in told[0]
    assert told[2] == "Too weak to tell anything: linkability."


def risks(report: dict[str, Any], audit: dict[str, Any] | None) -> list[str]:
    """The sentences on the largest risk."""
    return [text_of(sentence) for sentence in risk_words(report, audit)]


def of_people(report: dict[str, Any]) -> str:
    """The sentence on the people of the rows."""
    return next(" ".join(map(text_of, topic.sentences)) for topic in first_facts(report) if topic.label == "Whose rows")


def calm(high: float, verdict: str) -> dict[str, Any]:
    """An audit whose attacks showed no risk, up to an upper limit of the interval."""
    silent = {**attack(0.0, verdict), "ci": [0.0, high], "least_detectable_risk": 0.05}
    return audit(singling_out=silent, inference={**silent, "secret": "income"})


def test_an_audit_that_shows_nothing_says_how_large_a_risk_it_leaves_open() -> None:
    """No attack showed a risk: the widest interval says what may be there all the same."""
    told = risks(NONE, calm(0.04, "none measurable"))
    assert told[1:] == ["2 attacks showed no risk; the widest of their intervals leaves 4% open (95% interval)."]


def test_too_few_attacks_are_said_with_what_they_could_have_shown() -> None:
    """An interval of 0 to 76 % is no evidence of safety."""
    told = risks(NONE, calm(0.764, "not enough attacks"))
    assert told[0].startswith("Not counted: ")
    assert told[1] == "Not measured: no attack was made often enough to tell."
    assert told[2].startswith("Not enough attacks: singling out (0% to 76.4%; below 5% nothing would have shown)")
    assert "None" not in " ".join(told)


@pytest.mark.slow_cases("risk")
@pytest.mark.parametrize("verdict", ["risk", "none measurable", "attack too weak", "not enough attacks"])
def test_an_audit_never_lowers_a_counted_risk(reports: dict[str, Any], verdict: str) -> None:
    """The counted risk of the released table stays; an attack may only put a larger one before it."""
    counted = risks(reports["k"], None)[0]
    small = {**attack(0.01, verdict), "least_detectable_risk": 0.05}
    told = risks(reports["k"], {"singling_out": small, "epsilon": None})
    assert told[0].startswith("1 in 5 at most, ")
    assert told[0] in counted
    large = risks(reports["k"], {"singling_out": attack(0.6, "risk"), "epsilon": None})
    assert large[0].startswith("Singling out: 60% of the people")
    assert large[1].startswith("1 in 5 at most, ")


@pytest.mark.parametrize(("claimed", "words_"), [(1.0, "1 is claimed"), ("inf", "no bound is claimed")])
def test_the_lower_bound_is_beside_its_claim(claimed: float | str, words_: str) -> None:
    """And its verdict."""
    loss = {"claimed": claimed, "lower_bound": 0.25, "verdict": "below the claim"}
    assert risks(NONE, audit(epsilon=loss))[-1] == f"ε is at least 0.25 (95% confidence), {words_}: below the claim."


def test_without_an_audit_nothing_is_made_up(reports: dict[str, Any]) -> None:
    """Class sizes are stated if they mean something; else the page has a question to the owner."""
    assert risks(reports["k"], None)[0].startswith("1 in 5 at most, ")
    assert risks(reports["boundless"], None)[0].startswith("Not counted: ")
    assert risks(reports["boundless"], None)[1].startswith("Attacks need the source")
    assert attack_rows(None) == []


def test_the_ledger_and_the_release_before_are_described(reports: dict[str, Any]) -> None:
    """An infinite sum is no bound; a release that is booked without a name, or not at all, says nothing of others."""
    before = {"method": "rr", "kind": "local-dp", "created": "2026-01-02T03:04:05+00:00", "epsilon": 1.0}
    row = {"neighbours": "replaced", "unit": None}
    ledger = {"release_of_dataset": 2, "totals": [{**row, "epsilon": "inf", "delta": 0.0}], "previous_release": before}
    told = {**reports["k"], "ledger": ledger}
    first = "Release 2 of this dataset in its ledger. The randomized ones together: "
    assert ledger_words(told) == f"{first}no bound for one row replaced."
    assert "made by rr on 2 January 2026" in change_words(told, None)
    person = {"neighbours": "added or removed", "unit": "patient"}
    both = [
        {**person, "epsilon": 2.0, "delta": 2e-6},
        {"neighbours": "unknown", "unit": None, "epsilon": 1.0, "delta": 0},
    ]
    limited = {"release_of_dataset": 2, "totals": both, "budget_neighbours": person}
    allowed = {"epsilon_budget": "inf", "delta_budget": 1e-5}
    whom = "one value of “patient” added or removed"
    spent = f"{first}ε = 2 and δ = 2e-06 for {whom}; ε = 1 of unknown neighbours"
    assert ledger_words({**told, "ledger": {**limited, **allowed}}) == (
        f"{spent}; ε = ∞ and δ = 1e-05 are allowed for {whom}."
    )
    unnamed_kind = {**limited, "epsilon_budget": 3.0, "budget_neighbours": None, "new_ledger": True}
    assert ledger_words({**told, "ledger": unnamed_kind}) == (
        f"{spent}; ε = 3 is allowed. It begins a new ledger: earlier releases of its folder are not counted."
    )
    assert ledger_words(reports["k"]).startswith("No ledger is named here: whether there are other releases")
    unnamed = {**reports["k"], "ledger": {"booked": True, "joint_k_accepted": 2}}
    assert ledger_words(unnamed).startswith("Booked by its owner: whether there are other releases of these data is")
    assert "Joint view accepted at 2" in ledger_words(unnamed)
    assert change_words(unnamed, None) == "Not known."
    assert change_words({**told, "ledger": {"release_of_dataset": 1}}, None) == "No earlier release is known."


def test_what_changed_is_counted_and_listed(reports: dict[str, Any]) -> None:
    """The promise first, then the figures, before and now."""
    found = difference(reports["k10"], reports["k"])
    assert found is not None
    assert found["promise"] == "a stronger promise"
    assert {"key": "guarantee.parameters.k", "before": "5", "after": "10"} in found["rows"]
    assert change_words(reports["k10"], found).startswith("A stronger promise. ")
    assert difference(reports["k10"], None) is None


@pytest.mark.parametrize("name", ["k", "central", "boundless"])
def test_the_first_sheet_has_all_that_is_signed_for(reports: dict[str, Any], name: str) -> None:
    """Promise, limits, protected, risk, usefulness, ledger, change, questions: before anything else, on one sheet."""
    page = render_page(reports[name])
    sheet = page[page.index('<div class="sheet">') : page.index('id="formal-h"')]
    for text in (
        *("At a glance", "What is not protected", "Whose rows", "Risk", "Usefulness"),
        *("Ledger", "Since the previous release", "Left for you to judge"),
    ):
        assert text in sheet
    assert sheet.count("<div") == sheet.count("</div")
    assert "DO NOT PUBLISH" not in words(page)
    assert "Attacks by the owner" not in page


def test_a_page_with_an_audit_is_the_owners(reports: dict[str, Any]) -> None:
    """Banner, every attack with its three controls, the bound; a secret's name is text."""
    loss = {
        "claimed": 1.0,
        "lower_bound": 0.25,
        "verdict": "below the claim",
        "most_measurable": 4.0,
        "neighbours": "two tables",
        "how": "many runs",
    }
    told = audit(epsilon=loss, inference=attack(0.375, "risk", secret="<b>income"))
    page = render_page(reports["central"], audit=told, older=reports["k"])
    text = words(page)
    assert "DO NOT PUBLISH" in text
    assert "Attacks by the owner" in text
    assert "90% 80% 0%" in text
    assert "<b>income" not in page
    assert "ε = 0.25, with 95% confidence: below the claim" in text
    assert "not comparable: k-anonymity before, central-dp now" in text
