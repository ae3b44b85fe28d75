"""The tasks of the benchmark on tables of a few rows, whose errors are known by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.append(str(Path(__file__).parents[1] / "recipes" / "benchmarks"))

import benchmark_reader_tasks
import reader_tasks
from reader_tasks import Adult, Domains, Task, passed

DOMAINS = Domains(numbers={"x": (0, 16)}, categories={"g": ("a", "b"), "y": ("no", "yes")})


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_tasks, "LEAST", 2)


def _table(x: list[float], g: str, y: str) -> pd.DataFrame:
    return pd.DataFrame({"x": x, "g": list(g), "y": ["yes" if one == "1" else "no" for one in y]})


SOURCE = _table([0, 2, 4, 6], "aabb", "0101")


def test_means_by_group_are_in_standard_deviations() -> None:
    """Group a: 1 for 1; group b: 8 for 5, whose error counts as one standard deviation at most."""
    rows = _table([1, 1, 8, 8], "aabb", "0101")
    assert reader_tasks.means_by_group(SOURCE, SOURCE, numbers=["x"], groups=["g"]) == 0
    spread = float(np.std([0, 2, 4, 6], ddof=1))
    assert reader_tasks.means_by_group(SOURCE, rows, numbers=["x"], groups=["g"]) == pytest.approx(
        min(1, 3 / spread) / 2
    )
    alone = _table([1, 1], "aa", "01")
    assert reader_tasks.means_by_group(SOURCE, alone, numbers=["x"], groups=["g"]) == 0.5


def test_groups_of_few_source_rows_are_left_out() -> None:
    """A group of one row has no mean that a reader would use."""
    source = pd.concat([SOURCE, _table([100], "c", "1")])
    assert reader_tasks.shares_by_group(source, SOURCE, target="y", value="yes", groups=[("g",)]) == 0


def test_shares_by_group_are_of_one_value() -> None:
    """Half for half in a, all for half in b; a group that is gone counts a half."""
    rows = _table([0, 2, 4, 6], "aabb", "0111")
    told = {"target": "y", "value": "yes", "groups": [("g",)]}
    assert reader_tasks.shares_by_group(SOURCE, rows, **told) == 0.25
    assert reader_tasks.shares_by_group(SOURCE, rows[:2], **told) == 0.25


def test_regressions_compare_coefficients_in_the_units_of_the_source() -> None:
    """A slope of the other sign is off by twice the slope; rows of one value have a slope of 0."""
    flags = {"up": lambda rows: rows["y"] == "yes"}
    source, turned = _table([0, 1, 2, 3], "aabb", "0011"), _table([0, 1, 2, 3], "aabb", "1100")
    slope = float(np.corrcoef([0, 1, 2, 3], [0, 0, 1, 1])[0, 1])
    told = {"models": {"up": ["x"]}, "flags": flags}
    assert reader_tasks.regressions(source, source, **told) == 0
    assert reader_tasks.regressions(source, turned, **told) == pytest.approx(2 * slope)
    assert reader_tasks.regressions(source, _table([0, 1, 2, 3], "aabb", "0000"), **told) == pytest.approx(slope)


def test_top_coded_totals_are_relative() -> None:
    """Capped at 4: 10 of the source, 8 of the rows; half and none at or above 4."""
    rows = _table([2, 2, 2, 2], "aabb", "0101")
    assert reader_tasks.top_coded_totals(SOURCE, rows, caps={"x": 4}) == pytest.approx((0.2 + 1) / 2)
    assert reader_tasks.top_coded_totals(SOURCE, SOURCE, caps={"x": 4}) == 0


def test_pairs_are_total_variation() -> None:
    """One of four rows is elsewhere in x: both pairs with x are a quarter off, the other is not."""
    rows = _table([0, 2, 4, 15], "aabb", "0101")
    assert reader_tasks.marginals(SOURCE, SOURCE, domains=DOMAINS, order=2) == 0
    assert reader_tasks.marginals(SOURCE, rows, domains=DOMAINS, order=2) == pytest.approx(0.5 / 3)
    assert reader_tasks.marginals(SOURCE, rows, domains=DOMAINS, order=3) == 0.25


def test_missing_cells_have_a_code_of_their_own() -> None:
    """Of a number and of a category that is not declared; the upper bound is in the last bin."""
    rows = pd.DataFrame({"x": [None, 16, -3], "g": ["a", "z", None], "y": ["no", "no", "yes"]})
    assert DOMAINS.codes(rows).tolist() == [[16, 0, 0], [15, 2, 0], [0, 2, 1]]


def test_correlations_of_a_constant_are_none() -> None:
    """The rows lose one that was 1 or -1."""
    flags = {"up": lambda rows: rows["y"] == "yes"}
    source = _table([0, 0, 1, 1], "aabb", "0011")
    assert reader_tasks.correlations(source, source, numbers=["x"], flags=flags) == 0
    constant = _table([1, 1, 1, 1], "aabb", "0011")
    assert reader_tasks.correlations(source, constant, numbers=["x"], flags=flags) == pytest.approx(1)


def test_plausibility_is_rules_commonest_values_and_whole_numbers() -> None:
    """Each against the source: what it breaks itself is not held against the rows."""
    rule = lambda rows: (rows["g"] == "a") & (rows["y"] == "yes")  # noqa: E731
    rows = _table([0.5, 2, 0, 0], "aabb", "1101")
    assert reader_tasks.rules_broken(SOURCE, rows, rules=[rule]) == 0.25
    assert reader_tasks.rules_broken(rows, SOURCE, rules=[rule]) == 0
    assert reader_tasks.spikes(SOURCE, rows, numbers=["x"]) == 0.25
    assert reader_tasks.not_whole(SOURCE, rows, numbers=["x"]) == 0.25
    assert reader_tasks.not_whole(SOURCE, _table([np.nan, 2, 0, 0], "aabb", "1101"), numbers=["x"]) == 0


def test_a_model_of_one_class_knows_nothing() -> None:
    """The AUC is .5; rows as good as the source lose nothing."""
    source = _table(list(range(16)) * 10, "ab" * 80, ("0" * 8 + "1" * 8) * 10)
    told = {"asked": source.copy(), "domains": DOMAINS, "target": "y", "value": "yes"}
    for model in ("forest", "logistic regression"):
        assert reader_tasks.area_lost(source, source.copy(), model=model, **told) == 0
    one = source.assign(y="no")
    assert reader_tasks.area_lost(source, one, model="forest", **told) == pytest.approx(0.5)


def test_every_task_has_lines_that_fall_as_epsilon_grows() -> None:
    """A line is passed at its value."""
    tasks = Adult(domains=DOMAINS, asked=SOURCE).tasks()
    assert len({task.name for task in tasks}) == len(tasks) == 13
    assert all(list(task.passes) == sorted(task.passes, reverse=True) for task in tasks)
    task = Task(name="x", error=lambda source, rows: 0.0, passes=(3, 2, 1))
    assert [passed(task, epsilon, 2) for epsilon in reader_tasks.EPSILONS] == [True, True, False]


def test_every_miss_is_named_on_the_page() -> None:
    """A line, a peer of pure epsilon at any epsilon, AIM where it was named; who is behind is no miss."""
    tasks = [Task(name="pairs", error=lambda source, rows: 0.0, passes=(0.3, 0.2, 0.1))]
    known = {
        "binned|dp-marginals|0.1|0": {"pairs": 0.2},
        "binned|dp-marginals|0.1|1": {"pairs": 0.3},
        "binned|independent|0.1|0": {"pairs": 0.24},
        "binned|aim|0.1|0": {"pairs": 0.26},
        "binned|dp-marginals|1|0": {"pairs": 0.15},
        "binned|independent|1|0": {"pairs": 0.15},
        "binned|aim|1|0": {"pairs": 0.01},
    }
    judged = list(benchmark_reader_tasks.judgements(known, tasks))
    assert [(one.epsilon, one.rival, one.met) for one in judged] == [
        (0.1, "", True), (0.1, "independent", False), (0.1, "aim", True), (1.0, "", False), (1.0, "independent", True),
    ]  # fmt: skip
    text = benchmark_reader_tasks.written(known, tasks, {("aim", 0.5): "ended after 600 CPU seconds"}, {}, "abc")
    assert "| same bins | 0.1 | pairs | .250 | independent columns | .240 |" in text
    assert "| same bins | 1 | pairs | .150 | the line | .100 |" in text
    assert "| pairs | .300 | .250 ± .050 | .240 | .260 |" in text
    assert "| pairs | .100 | .150 **missed** | .150 | .010 |" in text
    assert "| AIM (dpmm) | 0.5 | ended after 600 CPU seconds |" in text
    assert "commit abc." in text
