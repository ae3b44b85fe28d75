"""The frontier: half of the rows released, everything scored on the other half, and looking has a price."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.comparing.comparison import Comparison, FrontierPoint
from anonkit.comparing.frontier import frontier_page
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import BudgetError, ParameterError, PolicyError
from anonkit.ledger import Ledger
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

FEW: dict[str, Any] = {"target": "customer_value", "policy": bank_customers_policy(), "attacks": 20}


@pytest.fixture(scope="module")
def compared() -> Comparison:
    """Two methods on 600 customers, a k that cannot be reached among them."""
    return anonkit.compare(bank_customers(600, seed=1), methods=["mondrian", "rr"], k=[5, 500], epsilon=[2.0], **FEW)


def test_every_setting_is_a_point_or_a_reason(compared: Comparison) -> None:
    """k of the k-anonymous method, epsilon of the other; what cannot be released says why."""
    labels = [point.label for point in compared.points]
    assert labels == ["mondrian, k = 5", "mondrian, k = 500", "rr, ε = 2"]
    assert [point.refused is None for point in compared.points] == [True, False, True]
    for point in compared.points:
        if point.refused is None:
            more = {"reconstructed"} if point.method == "rr" else set()
            assert set(point.scores) == {"random forest", "boosted trees", "logistic regression"} | more
            assert {"singling_out", "linkability", "inference", "membership"} <= set(point.attacks)
            assert point.auc is not None
            assert 0.3 < point.auc <= 1


def test_a_release_keeps_no_more_than_the_rows(compared: Comparison) -> None:
    """On rows nobody released."""
    raw = max(one["auc"] for one in compared.raw.values())
    assert compared.points[0].auc is not None
    assert compared.points[0].auc < raw + 0.03


def test_a_release_with_noise_is_used_as_it_is_meant(compared: Comparison) -> None:
    """The headline is the best model's; the reconstructed one has a column where there is one."""
    document = json.loads(json.dumps(compared.to_dict()))
    for one in document["points"]:
        if one["refused"] is None:
            assert one["auc"] == max(model["auc"] for model in one["models"].values())
            assert one["models"][one["best_model"]]["auc"] == one["auc"]
    assert "<th>AUC, reconstructed</th>" in frontier_page(document)
    assert f"<td>{document['points'][2]['models']['reconstructed']['auc']:.3f} (" in frontier_page(document)
    document["points"] = document["points"][:2]
    assert "AUC, reconstructed" not in frontier_page(document)


@pytest.mark.slow
def test_looking_at_private_rows_has_a_price(compared: Comparison) -> None:
    """It is said, with the sum of what was looked at; on public rows it is free."""
    assert compared.price is not None
    assert 1.9 < compared.epsilon_looked_at <= 2
    table = bank_customers(300, seed=1)
    free = anonkit.compare(table, methods=["rr"], epsilon=[2.0], public=bank_customers(300, seed=2), **FEW)
    assert free.price is None
    assert replace(compared, epsilon_looked_at=0.0).price is None


@pytest.mark.slow
def test_the_price_can_be_charged(tmp_path: Path) -> None:
    """Every epsilon is booked; without budget for all of them nothing is compared."""
    table, ledger = bank_customers(300, seed=1), tmp_path / "l.sqlite"
    given: dict[str, Any] = {"methods": ["rr"], "charge": ledger, "dataset": "customers", **FEW}
    anonkit.compare(table, epsilon=[1.0, 2.0], budget=3.0, **given)
    assert 2.9 < Ledger(ledger).standing("customers").epsilon <= 3
    with pytest.raises(BudgetError):
        anonkit.compare(table, epsilon=[1.0], **given)


@pytest.mark.slow
def test_a_method_with_k_and_an_epsilon_is_compared_by_epsilon_and_charged(tmp_path: Path) -> None:
    """safepub has both: epsilon is what is looked at, and epsilon and delta are booked, for an empty draw too."""
    table, ledger = bank_customers(2000, seed=1), tmp_path / "l.sqlite"
    found = anonkit.compare(
        table, methods=["safepub"], k=[5], epsilon=[0.01, 1.0], charge=ledger, dataset="customers", rows=2000, **FEW
    )
    assert [point.label for point in found.points] == ["safepub, ε = 0.01", "safepub, ε = 1"]
    assert [point.refused is None for point in found.points] == [False, True]
    assert "no row is released" in str(found.points[0].refused)
    standing = Ledger(ledger).standing("customers")
    assert standing.epsilon == pytest.approx(1.01)
    assert standing.delta == pytest.approx(2e-9)
    assert found.epsilon_looked_at == pytest.approx(1.01)


@pytest.mark.slow
def test_domains_of_a_method_with_k_and_an_epsilon_are_read_where_that_is_asked_for() -> None:
    """As for every other method that needs domains."""
    table = bank_customers(2000, seed=1)
    given: dict[str, Any] = {**FEW, "policy": None, "methods": ["safepub"], "epsilon": [1.0], "rows": 2000}
    found = anonkit.compare(table, domains_from_data=True, **given)
    assert found.points[0].refused is None
    with pytest.raises(PolicyError, match="the policy declares none"):
        anonkit.compare(table, **given)


def test_the_page_is_whole_and_for_the_owner(compared: Comparison) -> None:
    """One file, no script, no reference outside, every point in plot and table, banner and price."""
    page = frontier_page(json.loads(json.dumps(compared.to_dict())))
    assert "DO NOT PUBLISH" in page
    assert "Looking has a price" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    for label in ("mondrian, k = 5", "rr, ε = 2"):
        assert f"<title>{label}</title>" in page
        assert f"<td>{label}</td>" in page
    assert "mondrian, k = 500: " in page
    assert "linkability risk" in page


def test_names_on_the_page_are_text(compared: Comparison) -> None:
    """A column name is no markup."""
    page = frontier_page(replace(compared, target="<b>x").to_dict())
    assert "<b>x" not in page
    assert "&lt;b&gt;x" in page


@pytest.mark.slow
def test_a_method_that_cannot_handle_the_table_is_a_refused_point() -> None:
    """Bounded numbers beside categories: trr alone cannot release the latter, the others are compared all the same."""
    found = anonkit.compare(bank_customers(200, seed=1), methods=["trr", "mondrian"], k=[5], **FEW)
    assert [point.refused is None for point in found.points] == [False, True]
    assert "column" in str(found.points[0].refused)
    assert f"<li>trr: {escape(str(found.points[0].refused))}</li>" in frontier_page(found.to_dict())


def test_what_no_method_can_handle_is_an_error() -> None:
    """A policy without domains for local privacy alone, or a target that is not there."""
    with pytest.raises(PolicyError, match="the policy declares none"):
        anonkit.compare(bank_customers(200, seed=1), methods=["rr"], epsilon=[1.0], target="customer_value")
    with pytest.raises(PolicyError, match="is not in the table"):
        anonkit.compare(bank_customers(200, seed=1), methods=["mondrian"], target="customer_worth")


@pytest.mark.parametrize(
    ("loss", "label"),
    [(2.0, "m, ε = 2"), ("inf", "m, ε = 2 an answer, ∞ a row"), (28.3, "m, ε = 2 an answer, 28.3 a row")],
)
def test_an_epsilon_of_one_answer_is_not_shown_as_that_of_a_row(loss: float | str, label: str) -> None:
    """Beside methods that protect whole rows it would look like the same promise."""
    promise = {"kind": "local-dp", "parameters": {"epsilon": loss}}
    point = FrontierPoint(method="m", parameter="epsilon", value=2.0, scores={}, attacks={}, guarantee=promise)
    assert point.label == label


def test_nothing_to_compare_is_refused() -> None:
    """No method, or too few rows."""
    with pytest.raises(ParameterError, match="compare needs methods"):
        anonkit.compare(bank_customers(200), methods=[], target="customer_value")
    with pytest.raises(ParameterError, match="100 are needed"):
        anonkit.compare(bank_customers(50), methods=["mondrian"], target="customer_value")


@pytest.mark.slow
def test_methods_with_noise_are_scored_by_the_numbers_they_predict() -> None:
    """R² and mean absolute error of what a receiver reconstructs, with their intervals, on rows nobody released."""
    rng = np.random.default_rng(1)
    x = rng.random(3_000)
    table = pa.table({"x": x, "y": 10 * x + rng.normal(0, 1, x.size)})
    policy = Policy(
        columns={
            "x": Column(name="x", bounds=(0.0, 1.0)),
            "y": Column(name="y", role=Role.TARGET, bounds=(-5.0, 15.0)),
        }
    )
    found = anonkit.compare(table, target="y", methods=["dp-forest", "rr"], epsilon=[8.0], policy=policy, attacks=20)
    for point in found.points:
        assert point.refused is None
        scores = point.scores["reconstructed"]
        assert 0.5 < scores["r2"] < 1
        assert 0 < scores["mae"] < 3
        assert scores["ci"]["r2"][0] < scores["r2"] < scores["ci"]["r2"][1]


class _Drawn(HTMLParser):
    """The elements of a piece of HTML or SVG, and its text outside of style."""

    def __init__(self, piece: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(piece)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_comparison_is_a_figure(compared: Comparison) -> None:
    """Well-formed SVG with every release, its method in the legend, and whose it is; a file needs nothing else."""
    svg = compared.figure().svg
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join("".join(root.itertext()).split())
    for drawn in ("mondrian, k = 5", "rr, ε = 2", "mondrian", "rr", "the rows as they are", "DO NOT PUBLISH"):
        assert drawn in text
    assert "k = 500" not in text  # refused: it has no place on the plot
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert "background: #fff" in svg
    inline = compared.figure()._repr_html_()
    assert "background" not in inline  # a notebook has its own, light or dark
    assert inline in compared._repr_html_()


def test_a_notebook_shows_a_comparison_to_its_owner(compared: Comparison) -> None:
    """Banner, plot, price, all figures, what was refused and why; no script, nothing from outside, names as text."""
    piece = _Drawn(compared._repr_html_())
    text = " ".join(piece.texts)
    for told in (
        "DO NOT PUBLISH",
        "Looking has a price",
        "mondrian, k = 500: ",
        "AUC, reconstructed",
        "customer_value",
    ):
        assert told in text
    assert {tag for tag, _ in piece.elements}.isdisjoint({"script", "img", "iframe", "link", "a", "object"})
    assert not any(name.startswith("on") or name in ("src", "href") for _, given in piece.elements for name in given)
    planted = _Drawn(replace(compared, target="<b>x</b>")._repr_html_())
    assert [tag for tag, _ in planted.elements] == [tag for tag, _ in piece.elements]


def test_a_comparison_without_a_release_is_a_figure_that_says_so(compared: Comparison) -> None:
    """Every setting refused: a line in place of a plot."""
    nothing = replace(compared, points=(compared.points[1],))
    assert "No release could be measured." in ElementTree.tostring(
        ElementTree.fromstring(nothing.figure().svg), encoding="unicode"
    )
    assert "No release could be measured." in nothing._repr_html_()
