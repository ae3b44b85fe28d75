"""The page of the dossier: the owner's figures in words, nothing foreign in it, and it fits a narrow screen."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report.test_page import LONG, REPORTS, _in_browser, _k_anonymous, _local, _Page

from anonkit.errors import ReleaseFormatError
from anonkit.report.charts import safe_text
from anonkit.report.document import build_owner_report
from anonkit.report.dossier_page import render_dossier


def _owner(text: str = "town", **more: Any) -> dict[str, Any]:
    """An owner report with one text wherever a text can come from a table or the policy."""
    attacker = {"max": 1.0, "mean": 0.5, "share_at_risk": 0.9, "risk_threshold": 0.2}
    facts = {"rows": 100, "missing": 3, "values": 7}
    bars = [{"label": text, "before": 0.9, "after": 0.5}, {"label": "", "others": 6, "before": 0.1, "after": 0.5}]
    head = {"role": "quasi_identifier", "action": "generalized", "before": facts, "after": facts, "bars": bars}
    changes = [
        {**head, "name": text, "how": "spread over the set", "coarseness": {"before": 0.1, "after": 0.4},
         "distance": {"name": "total variation", "value": 0.4, "unit": "share of the rows"}},
        {**head, "name": text + "!", "how": "ranges", "mean": {"before": 1.5, "after": 2e9},
         "spread": {"before": 1.0, "after": None},
         "distance": {"name": "Wasserstein distance", "value": 3.25, "unit": "days", "in_standard_deviations": 0.5}},
        {"name": text + "?", "role": "quasi_identifier", "action": "dropped", "before": facts,
         "bars": [{"label": None, "before": 1.0}]},
        {"name": "id", "role": "identifier", "action": "dropped", "before": facts},
    ]  # fmt: skip
    figures = {
        "method": "rfka",
        "source_table": text,
        "raw_risk": {
            "quasi_identifiers": [text, "age"], "rows": 100, "k": 1, "classes": 50, "uniques": 1, "counted": "rows",
            "prosecutor": attacker, "journalist": attacker, "marketer": {"success_rate": 0.5},
        },
        "column_changes": changes,
        "pair_changes": {
            "columns": [text, "age", *(f"column {at}" for at in range(24))],
            "pairs": [{"columns": [0, 1], "distance": 0.1234, "dependence": {"before": 0.5, "after": 0.25}}],
            "mean_distance": 0.1234, "by_chance": 0.01, "mean_dependence": {"before": 0.5, "after": 0.25}, "how": "so",
        },
        "joint_view": {"k": 4, "classes": 30, "rows_below_k": 8, "rows_alone": 1, "with_releases": [1, 2]},
        "publication": {"recipients": [text], "purpose": text, "legal_basis": None, "contact": None,
                        "retain_until": None},
        "search": {"steps": 3, "importance": {text: 1.5, "age": 2.5}},
        "data_sha256": "0" * 64,
        **more,
    }  # fmt: skip
    return build_owner_report("0.1.0", figures)


def _examples(text: str = "cell") -> dict[str, Any]:
    return {"corresponds": True, "before": [{"job": text, "age": None}] * 2, "after": [{"job": text}, None]}


def test_rules_of_means_and_distances_are_in_words() -> None:
    """Columns keep their names, also where a rule or a measure has the same."""
    rules = {"classes": 90, "few": 7, "p_percent": 6, "dominance": 5, "near_end": 4}
    figures = {"columns": 2, "il1s": 30.5, "il1s_per_cell": 0.25, "eigenvalues": 0.5, "correlations": 0.125}
    means = {"loan": rules, "columns": {**rules, "few": 11}}
    page = render_dossier(REPORTS["central-dp"](), _owner(means=means, number_distances={"means": figures}))
    text = " ".join(_Page(page).text.split())
    assert "loan 90 7 6 5 4 columns 90 11 6 5 4" in text
    assert "One person makes up more than 80 %" in text
    assert "Correlations: mean of |r − r′| 0.125" in text
    assert not re.search("p_percent|near_end|il1s_per_cell|Loan", text)


def test_pairs_of_columns_are_a_picture_and_figures() -> None:
    """Both sides of the diagonal, the mean, chance, and the pairs that differ most by name."""
    page = render_dossier(REPORTS["central-dp"](), _owner())
    text = _Page(page).text

    assert "differ by 0.123 on average over 1 pairs" in text
    assert "would by about 0.010" in text
    assert "town, age 0.123 0.500 0.250" in " ".join(text.split())
    assert "<title>town and age: 0.500</title>" in page
    assert "<title>town and age: 0.250</title>" in page
    assert "Every two columns" not in _Page(render_dossier(REPORTS["central-dp"](), _owner(pair_changes=None))).text


@pytest.mark.parametrize("kind", REPORTS)
def test_the_owner_reads_figures_with_their_units(kind: str) -> None:
    """Source beside release where groups are counted in both; under noise the source alone."""
    report = REPORTS[kind]()
    text = _Page(render_dossier(report, _owner(), name="x", examples=_examples())).text

    assert "DO NOT PUBLISH" in text
    assert "Smallest group of rows that look alike 1 row" in text
    assert "Alone in their group 1 row" in text
    assert ("12 rows" in text) == (kind == "k-anonymity")
    assert ("there is no figure beside those of the source" in text) == (kind != "k-anonymity")
    assert "The distributions differ by 40% of the rows (total variation distance)." in text
    assert "The numbers differ by 3.25 days on average (Wasserstein distance, 0.5 standard deviations" in text
    assert "On average a released value matches 40% of all rows (original values: 10%). Higher means coarser." in text
    assert "6 other values" in text
    assert "Never released, and not shown here." in text
    assert "Smallest group left 4 rows" in text
    assert "release 1, 2 of this dataset" in text
    assert "No audit was made" in text
    assert "left out of the release" in text
    assert "x.parquet" in text


def test_people_are_said_where_people_are_counted() -> None:
    """The unit of every figure is the one that was counted in."""
    owner = _owner()
    owner["raw_risk"]["counted"] = "people"
    report = _local()

    text = _Page(render_dossier(report, owner)).text
    assert "Alone in their group 1 person" in text
    assert "picks the right person" in text


def test_an_audit_is_on_the_page() -> None:
    """Its attacks are shown, and the largest risk is the one that was measured."""
    attack = {
        "n_attacks": 100, "attack_rate": 0.5, "control_rate": 0.1, "risk": 0.44, "ci": [0.3, 0.6], "verdict": "risk",
        "controls": {"identity": 0.9, "renamed": 0.5, "shuffled": 0.1},
    }  # fmt: skip
    audit = {"attacker_knows": ["age"], "singling_out": attack, "epsilon": None}

    text = _Page(render_dossier(_k_anonymous(), _owner(audit=audit))).text
    assert "Singling out: 44% of the people" in text
    assert "No audit was made" not in text


@pytest.mark.slow
@settings(max_examples=20)
@given(text=st.text(st.characters(exclude_characters="|"), min_size=1, max_size=20) | st.just("</style><script>a()"))
def test_texts_of_the_table_stay_texts(text: str) -> None:
    """Names, labels and cells change no element of the page, and no control character is in it."""

    def shape(page: str) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attributes)) for tag, attributes in _Page(page).elements if tag != "wbr"]

    pages = [render_dossier(_k_anonymous(), _owner(one), examples=_examples(one)) for one in (text, "x")]

    assert shape(pages[0]) == shape(pages[1])
    assert safe_text(pages[0]) == pages[0]


def test_a_damaged_owner_report_has_its_own_error() -> None:
    """A block that is not what it should be is a ReleaseFormatError."""
    with pytest.raises(ReleaseFormatError):
        render_dossier(_k_anonymous(), _owner(raw_risk={"k": 1}))


@pytest.mark.slow
@pytest.mark.browser
def test_the_dossier_fits_a_narrow_screen(tmp_path: Path) -> None:
    """At 400 pixels and at 1200 nothing overflows sideways and nothing is loaded, whatever the names are."""
    page = render_dossier(_k_anonymous(), _owner(LONG), name=LONG, examples=_examples("a|" * 80 + LONG))

    found, asked = _in_browser(tmp_path, [(page, width) for width in (360, 400, 1200)])

    assert [seen["overflow"] for seen in found] == [0, 0, 0]
    assert [seen["loaded"] for seen in found] == [0, 0, 0]
    assert [seen["styled"] for seen in found] == ["5px"] * 3
    assert asked - {"/favicon.ico"} == {"/probe.html"}


@pytest.mark.slow
@pytest.mark.browser
def test_the_dossier_fits_a_sheet_of_paper(tmp_path: Path) -> None:
    """Between the margins of A4 (178 mm, 673 pixels) nothing goes beyond them, long names and intervals neither."""
    figures = _left_out_and_prediction()
    side = {"auc": 0.895234, "ci": {"auc": [0.874234, 0.916134]}}
    figures["prediction_for_all_rows"] |= {
        "target": LONG, "from_source": side, "from_release": side,
        "difference": {"auc": {"value": -0.061934, "ci": [-0.076834, -0.047034], "shows": "worse"}},
    }  # fmt: skip
    page = render_dossier(_k_anonymous(), _owner(LONG, **figures), name=LONG, examples=_examples(LONG))
    printed, scroll_bar = page.replace("@media print", "@media all"), 15
    style = page.partition("<style>")[2].partition("</style>")[0]
    allowed = "sha256-" + b64encode(sha256(style.replace("@media print", "@media all").encode()).digest()).decode()
    printed = re.sub(r"sha256-[A-Za-z0-9+/=]+", allowed, printed, count=1)

    (found,), _ = _in_browser(tmp_path, [(printed, 673 + scroll_bar)])

    assert found["styled"] == "5px"
    assert found["overflow"] == 0


def _left_out_and_prediction() -> dict[str, Any]:
    """Owner's figures of what is left out and of the prediction of the target."""
    classes = [
        {"class": "high", "in": 200, "left_out": 30, "share": 0.15, "stands_out": True},
        {"class": "secret", "in": 3, "left_out": 3, "share": 1.0, "stands_out": False},
    ]
    left_out = {
        "target": "income", "counted": "rows", "in": 203, "left_out": 33, "share": 33 / 203, "classes": classes,
        "rule": "a class stands out when it does", "note": "One class loses more.",
    }  # fmt: skip
    side = {"auc": 0.9, "ci": {"auc": [0.85, 0.95]}}
    prediction = {
        "target": "income", "model": "forest", "protocol": "folds", "rows": 203, "rows_left_out": 33, "majority": 0.7,
        "from_source": side, "from_release": {"auc": 0.8, "ci": {"auc": [0.7, 0.85]}},
        "difference": {"auc": {"value": -0.1, "ci": [-0.2, -0.05], "shows": "worse"}},
    }  # fmt: skip
    return {"rows_left_out": left_out, "prediction_for_all_rows": prediction}


def test_rows_left_out_and_prediction_are_side_by_side() -> None:
    """Classes with their counts, one of few rows without its name; source, release and difference with intervals."""
    owner = _owner(**_left_out_and_prediction(), utility_of_source={"x": 1})

    text = _Page(render_dossier(_k_anonymous(), owner)).text
    assert "high 200 rows 30 rows 15%" in text
    assert "a class of fewer than ten 3 rows 3 rows 100%" in text
    assert "secret" not in text
    assert "AUC 0.9 (0.85 to 0.95) 0.8 (0.7 to 0.85) -0.1 (-0.2 to -0.05) worse" in text
    assert "Usefulness of the source" not in text


_SHARES = st.lists(st.integers(0, 1_000).map(lambda permille: permille / 1_000), min_size=1, max_size=12)
"""Apart from each other by more than the differences of doubles, in whose order nearly equal ones may change places."""


def _moving(name: str, share: float, action: str = "generalized") -> dict[str, Any]:
    facts = {"rows": 100, "missing": 0, "values": 2}
    bars = [{"label": "most", "before": 1.0, "after": 1.0 - share}, {"label": "rest", "before": 0.0, "after": share}]
    head = {"name": name, "role": "quasi_identifier", "action": action, "before": facts, "after": facts}
    return {**head, "bars": bars}


@pytest.mark.slow
@settings(max_examples=20)
@given(shares=_SHARES)
def test_the_columns_that_moved_most_are_told_before_the_prediction(shares: list[float]) -> None:
    """Five at most, the largest first; what is dropped is named, random answers are not."""
    changes = [_moving(f"moved {at}", share) for at, share in enumerate(shares)]
    gone = {"name": "gone", "role": "quasi_identifier", "action": "dropped", "before": changes[0]["before"]}
    coins = _moving("coins", 1.0, "randomized")
    owner = _owner(**_left_out_and_prediction(), column_changes=[*changes, gone, coins])

    page = _Page(render_dossier(_k_anonymous(), owner)).text
    before, _, _ = page.partition("Prediction of")
    _, _, text = before.partition("Largest losses")
    assert "Not released: gone." in text
    assert "coins" not in text
    told = [int(at) for at in re.findall(r"moved (\d+)", text)]
    moved = sorted((at for at, share in enumerate(shares) if share >= 0.0005), key=lambda at: -shares[at])
    assert told == moved[:5]


def test_where_nothing_is_lost_nothing_is_said() -> None:
    """A release that shows every column as it is has no losses."""
    assert 'id="losses-h"' not in render_dossier(_k_anonymous(), _owner(column_changes=[_moving("same", 0.0)]))
