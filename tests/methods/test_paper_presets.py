"""`--preset paper`: every method that implements a published system has it, and it claims what holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError
from anonkit.methods import METHODS, example_of, make_method, method_class, presets_of
from anonkit.policy.column_declarations import Missing
from anonkit.published.exact_losses import RATE_BITS

OWN = {
    "dp-forest": "anonkit's own default",
    "dp-tree": "anonkit's own default with one tree",
    "dp-nb": "anonkit's own form of an idea of several papers",
    "dp-tables": "anonkit's own choice of mechanisms that many papers describe",
    "dp-marginals": "published steps (select, measure, generate) with anonkit's own rule and model",
    "mondrian": "a published cut in anonkit's own light: what guides it is a boosted forest",
    "safepub": "published steps (draw, generalize, suppress) with anonkit's own levels, scores and exact delta",
    "rr": "published mechanisms, and anonkit's own rule that chooses among them",
}
"""Methods that are no published system, and why."""
PUBLISHED = tuple(name for name in METHODS if name not in OWN)
PAGES = Path(__file__).parents[2] / "docs" / "methods"


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_system_has_the_preset_of_its_paper(name: str) -> None:
    """An unknown preset is answered by the name of the known one, and the page says what the preset is."""
    assert "paper" in presets_of(method_class(name))
    with pytest.raises(ParameterError) as caught:
        make_method(name, {}, "published")
    assert caught.value.hint == f"known: {', '.join(presets_of(method_class(name)))}"
    page = (PAGES / f"{name.replace('-', '_')}.md").read_text(encoding="utf-8")
    assert "--preset paper" in page


@pytest.mark.parametrize("name", OWN)
def test_a_method_without_a_paper_says_that_it_has_no_preset(name: str) -> None:
    """The hint is not an empty list."""
    with pytest.raises(ParameterError) as caught:
        make_method(name, {}, "paper")
    assert caught.value.hint == "it has none: leave the preset out"


@pytest.mark.parametrize("name", ["diffgen", "dt-diff"])
def test_specialization_as_published_spends_half_of_its_choices(name: str, tmp_path: Path) -> None:
    """Half of epsilon counts, half of the other half chooses; the report states what holds beside the claim."""
    given: dict[str, Any] = {"method": name, "epsilon": 1.0, "steps": 3, "policy": bank_customers_policy()}
    release = anonkit.release(
        bank_customers(400, seed=1), **given, preset="paper", output=tmp_path / "o.parquet", ledger=None
    )
    stated = release.report["guarantee"]["parameters"]
    assert stated["epsilon"] == pytest.approx(0.75)
    assert stated["published_claim"].startswith("The paper claims epsilon = 1 for this")
    assert anonkit.validate(release).passed
    # counts are as noisy as without the preset, and the other score needs the published rate
    count = make_method(name, {"epsilon": 1.0, "steps": 3}).plan(bank_customers_policy()).count  # type: ignore[attr-defined]
    assert abs(release.params["accounting"][1]["rate"] - count.rate) < 1 << (RATE_BITS - 40)
    gain = make_method(name, {"epsilon": 1.0, "score": "information-gain"}, "paper")
    promised = gain.guarantee(bank_customers_policy()).to_dict()["parameters"]
    assert promised["epsilon"] == pytest.approx(1.0)
    assert promised["published_claim"] is None


def test_errph_as_published_has_no_bound_for_a_row() -> None:
    """Labels are clear, as in the paper: each answer has its epsilon, the row none."""
    policy = bank_customers_policy().with_roles(
        insensitive=("age", "swipe_frequency", "swipe_amount", "deposit", "loan")
    )
    promise = make_method("errph", {}, "paper").guarantee(policy)
    assert promise.loss().epsilon == float("inf")  # type: ignore[union-attr]


def test_rrph_is_warners_model_on_two_values() -> None:
    """The paper's case of two values: a number is its half of the bounds, and p_0 is a truth of (1 + p_0) / 2."""
    policy = bank_customers_policy()
    numbers = [name for name, column in policy.columns.items() if column.bounds is not None]
    never = {name: replace(policy.columns[name], missing=Missing.FIRST) for name in numbers}  # else a third value
    policy = replace(policy, columns={**policy.columns, **never})
    kept = policy.with_roles(insensitive=[name for name in policy.columns if name not in (*numbers, "customer_value")])
    made = make_method("errph", {"p_keep": 0.5}, "rrph").published(kept)  # type: ignore[attr-defined]
    warner = make_method("errph", {"p_truth": 0.75, "bins": 2, "label": "clear"}).published(kept)  # type: ignore[attr-defined]
    asked = [one for one in made.attributes if one.name != made.target.name]
    assert [one.domain.size for one in asked if one.domain is not None] == [2] * len(numbers)
    assert made.losses == pytest.approx(warner.losses)


@pytest.mark.parametrize(
    "name", [name for name in PUBLISHED if presets_of(method_class(name)) and name not in ("trr",)]
)
def test_what_a_preset_promises_is_told_before_the_data_are_seen(name: str) -> None:
    """If the paper's claim does not hold the promise states it; the promise of a look without noise is none."""
    given = {key: value for key, value in example_of(method_class(name)).items() if key not in ("p_keep", "bins")}
    method = make_method(name, given, "paper")
    policy = bank_customers_policy()
    if name == "errph":
        policy = policy.with_roles(insensitive=("age", "swipe_frequency", "swipe_amount", "deposit", "loan"))
    promise = method.guarantee(policy)
    if promise.kind != "central-dp":
        assert promise.kind in ("none", "local-dp", "k-anonymity")
        return
    stated = promise.to_dict()["parameters"]
    differs = stated["epsilon"] != pytest.approx(given["epsilon"])
    assert differs == (stated["published_claim"] is not None)
