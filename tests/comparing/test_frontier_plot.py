"""The plot of a comparison: a mark for each release with a risk, names escaped, and nothing from outside."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from anonkit.comparing.frontier_plot import FrontierFigure, drawable, measure_of


def point(method: str, auc: float | None, risk: float | None) -> dict[str, Any]:
    """A release of a comparison."""
    attacks = {} if risk is None else {"linkability": {"risk": risk, "ci": [risk / 2, risk * 2]}}
    return {
        "label": method,
        "setting": "",
        "method": method,
        "auc": auc,
        "attacks": attacks,
        "parameters": {"k": 5},
        "promise": {"kind": "k-anonymity", "k": 5},
    }


def test_only_releases_with_both_figures_have_a_place() -> None:
    """A model that could not be scored, and an attack that was not made, have none."""
    points = [point("a", 0.8, 0.1), point("b", None, 0.1), point("c", 0.8, None)]
    assert [one["method"] for one in drawable(points, "auc")] == ["a"]
    assert measure_of({"task": "regression"}) == "r2"
    assert measure_of({}) == "auc"


def test_a_comparison_without_a_place_is_a_figure_all_the_same() -> None:
    """It is well-formed, and says so."""
    figure = FrontierFigure(document={"points": [], "raw": {"auc": 0.9}})
    for text in (figure.svg, figure.inline_svg()):
        root = ElementTree.fromstring(text)
        assert root.tag.endswith("svg")
    assert "http" not in figure.svg.replace("http://www.w3.org", "")


def test_every_release_has_a_mark_and_the_rows_as_they_are_a_line() -> None:
    """Further right with more risk; the name of a method is text, whatever it holds."""
    points = [point("mondrian", 0.8, 0.05), point("<rfka>", 0.7, 0.3)]
    figure = FrontierFigure(document={"points": points, "raw": {"auc": 0.9}})
    root = ElementTree.fromstring(figure.svg)
    texts = "".join(root.itertext())
    assert "the rows as they are: 0.900" in texts
    assert "<rfka>" in texts
    assert "2 releases by linkability risk" in root.attrib["aria-label"]
