"""The number of regions of a release and the attributes that it measures: two codes agree and refuse others.

Bins of a numeric target, worked out again from the published histogram: what does not follow from it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.budget_rules.pair_rule import AttributeSize, PairGrid
from anonkit.budget_rules.tree_rule import rule_for
from anonkit.checks.central_params import Family, PublicFacts, facts_of
from anonkit.checks.central_rule import RebuiltRule, is_followed, rows_of_cells, rule_checks, target_checks
from anonkit.consumers.published_classifiers import Forest
from anonkit.dp_trees.additive_model.pair_prequeries import PairFindings, PairQuestions
from anonkit.errors import InternalError, ReleaseFormatError
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from tests.dp_trees.additive_model.test_target_bins import histogram


@given(st.lists(st.integers(-300, 300), min_size=1, max_size=21), st.integers(1 << 40, 1 << 53))
def test_rows_that_stand_out_are_found_alike_by_two_codes(counts: list[int], rate: int) -> None:
    """The method's and the check's, written apart."""
    told = histogram(counts, rate)
    assert told.rows.tolist() == pytest.approx(rows_of_cells(counts, told.draw.rate).tolist())


def params_of(method: str) -> dict[str, Any]:
    """The params of a release whose target is a number."""
    table = pa.table({"a": ["0", "1"] * 200, "y": [(at * at) % 64 + 0.5 for at in range(400)]})
    policy = {"columns": {"a": {"categories": ["0", "1"]}, "y": {"role": "target", "bounds": [0, 64]}}}
    made = anonkit.release(table, method=method, epsilon=4.0, policy=policy, seed=1, ledger=None, utility=False)
    return deepcopy(dict(made.params))


@pytest.fixture(scope="module")
def params() -> dict[str, Any]:
    """Of bins that follow from a histogram."""
    return params_of("dp-forest")


def observed(params: dict[str, Any]) -> str | None:
    """The defect of the bins; None where they are as rebuilt."""
    (check,) = target_checks(params, facts_of(params))
    assert check.passed == (check.observed is None)
    return check.observed  # type: ignore[return-value]


def moved_end(target: dict[str, Any]) -> None:
    """The first bin has a cell less."""
    target["domain"]["ends"][0] -= 1


FORGED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "an end": (moved_end, "bins that do not follow"),
    "a bin less": (lambda target: target["domain"]["ends"].pop(0) and target["domain"]["means"].pop(0), "bins that do"),
    "a mean": (lambda target: target["domain"]["means"].__setitem__(0, 0.0), "means that do not follow"),
    "no histogram": (lambda target: target.pop("histogram"), "no histogram"),
    "another rate": (lambda target: target["histogram"].update(rate=1), "no line speaks of"),
    "more bins than there may be": (lambda target: target["histogram"].update(bins=9), "no line speaks of"),
    "a count less": (lambda target: target["histogram"]["counts"].pop(), "no line speaks of"),
}


@pytest.mark.parametrize("name", FORGED)
def test_bins_that_do_not_follow_from_the_histogram_are_found(name: str, params: dict[str, Any]) -> None:
    """Each end, each mean, and the histogram itself, of which a line of the account speaks."""
    assert observed(params) is None
    forged = deepcopy(params)
    edit, words = FORGED[name]
    edit(forged["target"])
    assert words in str(observed(forged))


def test_means_that_are_no_numbers_are_damage(params: dict[str, Any]) -> None:
    """An error of the params and no verdict on them."""
    forged = deepcopy(params)
    forged["target"]["domain"]["means"][0] = "many"
    with pytest.raises(ReleaseFormatError):
        observed(forged)


def test_without_a_histogram_bins_are_equal() -> None:
    """As many as the method asks for, whatever the rows are; other ends are refused."""
    params = params_of("dp-nb")
    assert observed(params) is None
    params["target"]["histogram"] = {"rate": 1, "bins": 2, "counts": [1, 2]}
    assert observed(params) == "other bins than equal ones"


UNITS = 1 << 52


def _tree(counts: list[int]) -> list[dict[str, Any]]:
    """A root, two nodes, and four leaves, the counts of a class in one of them."""
    none = [0] * len(counts)
    return [{"children": [1, 2]}, {"children": [3, 4]}, {"children": [5, 6]},
            {"counts": counts}, {"counts": none}, {"counts": none}, {"counts": none}]  # fmt: skip


LEVELS = {0: [0], 1: [1, 2], 2: [3, 4, 5, 6], 3: [3, 4, 5, 6]}


def _failed(counts: list[int], attributes: int, left: Fraction, *, most: int, told: int) -> list[str]:
    """Return the checks that refuse a release that has regions at this level."""
    facts = SimpleNamespace(
        n_classes=len(counts), attributes=[SimpleNamespace(domain=SimpleNamespace(categories=("a",)))] * attributes,
        whole=lambda *_: 0, family=Family.STACKED, delta=0.0,
    )  # fmt: skip
    plan = rule_for(epsilon=1.0, rows=1e9, attributes=attributes, classes=len(counts))
    rule = RebuiltRule(
        rule=replace(plan, depth=3, region_depth=most, measured=attributes, cells=16, slope=Fraction(0)),
        left=float(left),
    )
    params = {"rule": {"rows": 1, "depth": 3, "regions": told, "asked": attributes, "bins": 16, "weights": True,
                       "calibration": False, "dependence": None, "interaction": None},
              "trees": [_tree(counts)], "scores": {"regions": LEVELS[told]}, "weights": {},
              "histograms": [[[[1]]] * attributes], "format": "anonkit-forest-1"}  # fmt: skip
    return [check.name for check in rule_checks(params, cast("PublicFacts", facts), rule) if not check.passed]


@given(
    counts=st.lists(st.integers(-500, 10**6), min_size=2, max_size=6),
    attributes=st.integers(1, 40),
    units=st.integers(1, 4 * UNITS),
    told=st.integers(0, 3),
)
def test_regions_are_those_that_the_rarest_classes_have_rows_for(
    counts: list[int], attributes: int, units: int, told: int
) -> None:
    """The level that the rule comes to passes; every other one is refused."""
    left = Fraction(units, UNITS)
    plan = rule_for(epsilon=float(left), rows=1e9, attributes=attributes, classes=len(counts))
    own = plan.for_classes(counts, epsilon=left, attributes=attributes)
    failed = _failed(counts, attributes, left, most=plan.region_depth, told=own.region_depth)
    assert failed == []
    if told != own.region_depth:
        assert "rule" in _failed(counts, attributes, left, most=plan.region_depth, told=told)


@pytest.mark.parametrize(("counts", "depth"), [([10_000, 10_000], 1), ([18_800, 1_200], 0), ([19_990, -40], 0)])
def test_six_in_a_hundred_are_too_few_for_regions(counts: list[int], depth: int) -> None:
    """As many rows: two regions where the classes are level, none where one is rare, whatever its noisy count is."""
    rule = rule_for(epsilon=1.0, rows=20_000, attributes=15, classes=2)
    assert rule.region_depth == 1
    own = rule.for_classes(counts, epsilon=Fraction(1), attributes=15)
    assert own.region_depth == depth
    assert own.histograms == rule.histograms
    assert "rule" in _failed(counts, 15, Fraction(1), most=1, told=1 - depth)


def _letters(attributes: int, rows: int) -> tuple[pa.Table, Policy]:
    """Attributes of three letters and a target of three, all independent."""
    rng = np.random.default_rng(1)
    names = [f"a{at}" for at in range(attributes)]
    table = pa.table({name: rng.choice(["x", "y", "z"], rows) for name in (*names, "t")})
    columns = {name: Column(name=name, categories=("x", "y", "z"), role=Role.QUASI_IDENTIFIER) for name in names}
    columns["t"] = Column(name="t", categories=("x", "y", "z"), role=Role.TARGET)
    return table, Policy(columns=columns)


@pytest.fixture(scope="module")
def few_rows(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release of so few rows that six of eight attributes are measured."""
    table, policy = _letters(8, 200)
    output = tmp_path_factory.mktemp("few") / "out.parquet"
    anonkit.release(table, method="dp-forest", epsilon=0.5, n_rows=200, policy=policy, output=output, ledger=None)
    return Files.read(output)


def _of_kind(files: Files, asked: bool) -> int:
    """Return an attribute that was measured, or one that was not."""
    return next(at for at, table in enumerate(files.params["histograms"][0]) if bool(table) == asked)


def _unasked(files: Files) -> None:
    at = _of_kind(files, True)
    files.params["histograms"][0][at] = []
    files.params["scores"]["attributes"][0][at] = [[0, 0, 0]] * 3


def test_a_release_that_asks_few_attributes_is_valid(few_rows: Files, tmp_path: Path) -> None:
    """Six have a histogram, two have none."""
    assert few_rows.params["rule"]["asked"] == sum(bool(table) for table in few_rows.params["histograms"][0]) == 6
    assert verdict(forged(few_rows, lambda _: None, tmp_path)) == (0, ())


@pytest.mark.parametrize(
    ("edit", "check"),
    [
        (lambda files: files.params["rule"].update(asked=8), "rule"),
        (lambda files: files.params["scores"]["attributes"][0][_of_kind(files, False)][0].__setitem__(1, 5), "trees"),
        (lambda files: files.params["histograms"][0].__setitem__(_of_kind(files, False), [[9, 9, 9]] * 3),
         "rule_is_followed"),
        (_unasked, "rule_is_followed"),
    ],
    ids=["all are said to be asked", "evidence out of nothing", "a histogram nobody paid for", "a histogram less"],
)  # fmt: skip
def test_other_attributes_than_the_rule_asks_are_refused(
    few_rows: Files, edit: Edit, check: str, tmp_path: Path
) -> None:
    """The number of attributes follows from public facts; an attribute that was not measured shows nothing."""
    code, failed = verdict(forged(few_rows, edit, tmp_path))
    assert code == 1
    assert check in failed


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release of rows that are too few for weights, and enough for a calibration."""
    table, policy = _letters(8, 2_000)
    output = tmp_path_factory.mktemp("calibrated") / "out.parquet"
    anonkit.release(table, method="dp-forest", epsilon=1.0, n_rows=2_000, policy=policy, output=output, ledger=None)
    return Files.read(output)


def _line(files: Files, purpose: str = "gradient of the calibration") -> dict[str, Any]:
    """The line of the account for a draw."""
    return next(line for line in files.params["accounting"] if line["purpose"] == purpose)


def _repriced(line: dict[str, Any], **changed: int) -> None:
    """Change what is said of the draw, and its epsilon with it."""
    line.update(changed)
    line["epsilon"] = line["rate"] * line["sensitivity"] / UNITS


def test_a_release_that_was_calibrated_is_valid(calibrated: Files, tmp_path: Path) -> None:
    """Its rule says so, and a slope and three intercepts have a noisy sum."""
    assert calibrated.params["rule"]["calibration"]
    assert len(calibrated.params["calibration"]["gradient"]) == 4
    assert verdict(forged(calibrated, lambda _: None, tmp_path)) == (0, ())


@pytest.mark.parametrize(
    ("edit", "check"),
    [
        (lambda files: files.params["rule"].update(calibration=False), "rule"),
        (lambda files: files.params.pop("calibration"), "rule_is_followed"),
        (lambda files: files.params["calibration"]["gradient"].pop(), "trees"),
        (lambda files: _repriced(_line(files), sensitivity=4096, rate=2 * _line(files)["rate"]), "account_lines"),
        (lambda files: _repriced(_line(files), rate=_line(files)["rate"] // 2), "account_lines"),
        (lambda files: files.params["accounting"].remove(_line(files)), "account_lines"),
    ],
    ids=["none is said to be made", "no sums", "a sum less", "half the sensitivity", "half the rate", "no line"],
)
def test_another_calibration_than_the_rule_makes_is_refused(
    calibrated: Files, edit: Edit, check: str, tmp_path: Path
) -> None:
    """The existence, the sensitivity and the cost of a calibration follow from public facts."""
    code, failed = verdict(forged(calibrated, edit, tmp_path))
    assert code == 1
    assert check in failed


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release of attributes that do not depend on each other: no weights, where they might be learned."""
    table, policy = _letters(4, 4_000)
    for _ in range(20):  # three in a hundred are read to depend, by noise
        output = tmp_path_factory.mktemp("read") / "out.parquet"
        anonkit.release(table, method="dp-forest", epsilon=1.0, policy=policy, output=output, ledger=None)
        files = Files.read(output)
        if not files.params["rule"]["weights"]:
            break
    return files


def _of_reading(files: Files) -> dict[str, Any]:
    return _line(files, "dependence within classes")


def _reread(files: Files, **changed: int) -> None:
    _repriced(_of_reading(files), **changed)
    files.params["rule"]["dependence"]["rate"] = _of_reading(files)["rate"]


def _unread(files: Files) -> None:
    """Leave out the line and the reading."""
    files.params["accounting"].remove(_of_reading(files))
    del files.params["rule"]["dependence"]


def test_a_release_that_was_read_to_be_independent_is_valid(read: Files, tmp_path: Path) -> None:
    """It has no weights, though epsilon and rows are enough for them."""
    assert read.params["rule"]["dependence"]["steps"] < 0.07 * 256 * read.params["rule"]["rows"]
    assert "weights" not in read.params
    assert verdict(forged(read, lambda _: None, tmp_path)) == (0, ())


@pytest.mark.parametrize(
    ("edit", "check"),
    [
        (lambda files: files.params["rule"]["dependence"].update(steps=256 * 400), "rule"),
        (lambda files: files.params["rule"]["dependence"].update(rate=1), "rule"),
        (lambda files: files.params["rule"]["dependence"].update(purpose="something else"), "rule"),
        (lambda files: files.params["rule"]["dependence"].update(of="a0 and a1"), "rule"),
        (lambda files: _reread(files, sensitivity=257, rate=2 * _of_reading(files)["rate"]), "account_lines"),
        (lambda files: _reread(files, rate=_of_reading(files)["rate"] // 2), "account_lines"),
    ],
    ids=["weights would pay", "another rate", "another purpose", "a key more",
         "half the sensitivity", "half the rate"],
)  # fmt: skip
def test_another_reading_than_the_rule_asks_for_is_refused(read: Files, edit: Edit, check: str, tmp_path: Path) -> None:
    """The rule sets the existence, the sensitivity, the cost and the consequences of a reading."""
    code, failed = verdict(forged(read, edit, tmp_path))
    assert code == 1
    assert check in failed


@pytest.mark.parametrize(
    "edit",
    [
        lambda files: files.params["rule"].update(dependence=None),
        lambda files: files.params["accounting"].remove(_of_reading(files)),
        lambda files: files.params["rule"]["dependence"].update(steps="few"),
        lambda files: files.params["rule"].pop("dependence"),
        _unread,
    ],
    ids=["nothing is said to be read", "no line", "no number", "no word", "no line and no word"],
)
def test_a_release_without_the_reading_that_the_rule_asks_for_is_none(read: Files, edit: Edit, tmp_path: Path) -> None:
    """The rule cannot be followed then: it is not a release that can be checked."""
    assert verdict(forged(read, edit, tmp_path))[0] == 3


@pytest.mark.parametrize("steps", [0, "few"])
def test_a_reading_that_the_rule_does_not_ask_for_is_refused(steps: int | str, few_rows: Files, tmp_path: Path) -> None:
    """Of so few rows no weights would be learned: there is nothing to choose."""
    told = {"purpose": "dependence within classes", "rate": 1, "steps": steps}
    code, failed = verdict(forged(few_rows, lambda files: files.params["rule"].update(dependence=told), tmp_path))
    assert code == 1
    assert "rule" in failed


@pytest.mark.parametrize(
    ("rows", "code", "refused"),
    [
        (2_001, 1, ("account_lines", "rule")),
        (500, 1, ("account_lines", "rule", "rule_is_followed")),
        (20_000, 3, ("the params lack a reading or a choice that the rule requires",)),
        (2_000.5, 3, ("a list of the params must hold whole numbers, and does not",)),
    ],
    ids=["one more", "too few for a calibration", "enough for a reading", "no whole number"],
)
def test_another_number_of_rows_in_the_rule_is_refused(
    calibrated: Files, rows: float, code: int, refused: tuple[str, ...], tmp_path: Path
) -> None:
    """As long as the rule can be followed with it, checks refuse it; where a reading would be missing, it cannot be."""
    found = verdict(forged(calibrated, lambda files: files.params["rule"].update(rows=rows), tmp_path))
    assert (found[0], tuple(name for name in found[1] if name != "verification")) == (code, refused)


def test_another_noisy_number_of_rows_in_the_rule_is_refused(read: Files, tmp_path: Path) -> None:
    """No parameter says how many there are: every line that follows has another rate then."""
    one_more = read.params["rule"]["rows"] + 1
    code, failed = verdict(forged(read, lambda files: files.params["rule"].update(rows=one_more), tmp_path))
    assert (code, "account_lines" in failed) == (1, True)


def _led_table(rows: int = 3_000) -> tuple[pa.Table, Policy]:
    """A number and a word on which the class depends together, and three columns that say nothing."""
    rng = np.random.default_rng(7)
    number, word = rng.uniform(0, 16, rows), rng.integers(0, 3, rows)
    labels = (number // 4 % 2 == 0) ^ (word == 1) ^ (rng.random(rows) < 0.05)
    letters = np.array(["x", "y", "z"])
    table = pa.table({"n": number, "w": letters[word], "m": rng.uniform(0, 16, rows),
                      "v": letters[rng.integers(0, 3, rows)], "u": letters[rng.integers(0, 3, rows)],
                      "t": np.array(["no", "yes"])[labels.astype(int)]})  # fmt: skip
    columns = {name: Column(name=name, categories=("x", "y", "z")) for name in ("w", "v", "u")}
    columns |= {name: Column(name=name, bounds=(0.0, 16.0)) for name in ("n", "m")}
    columns["t"] = Column(name="t", categories=("no", "yes"), role=Role.TARGET)
    return table, Policy(columns=columns)


@pytest.fixture(scope="module")
def led(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release whose tree is led by a pair."""
    table, policy = _led_table()
    output = tmp_path_factory.mktemp("led") / "out.parquet"
    anonkit.release(table, method="dp-forest", epsilon=2.0, policy=policy, output=output, ledger=None)
    return Files.read(output)


def _of_choice(files: Files) -> dict[str, Any]:
    return _line(files, "interacting pair")


def _rechosen(files: Files, **changed: int) -> None:
    _repriced(_of_choice(files), **changed)
    files.params["rule"]["interaction"]["rate"] = _of_choice(files)["rate"]


def _node(files: Files, attribute: str) -> dict[str, Any]:
    """The first node that this attribute divides."""
    return next(node for node in files.params["trees"][0] if node.get("attribute") == attribute)


def _moved_cut(files: Files) -> None:
    """The root is divided at another cut of the same number, to the letter: nobody paid for that choice."""
    root = _node(files, "n")
    cells = next(one["domain"]["cells"] for one in files.params["attributes"] if one["name"] == "n")
    root.update(at=root["at"] - 1, value=16.0 * root["at"] / cells)


def _unchosen(files: Files) -> None:
    """Leave out the line and the choice."""
    files.params["accounting"].remove(_of_choice(files))
    del files.params["rule"]["interaction"]


def test_a_release_whose_tree_a_pair_leads_is_valid_and_predicts_what_no_attribute_tells(
    led: Files, tmp_path: Path
) -> None:
    """It says which pair, pays for the choice, and its tree begins with their grid."""
    assert led.params["rule"]["interaction"]["pair"] == ["n", "w"]
    assert led.params["rule"]["depth"] >= 3 + 2
    assert {node["attribute"] for node in led.params["trees"][0][:3]} <= {"n", "w"}
    assert not [line for line in led.params["accounting"] if line["purpose"] == "split at level 0"]
    assert verdict(forged(led, lambda _: None, tmp_path)) == (0, ())
    table, _ = _led_table()
    guesses = Forest(led.params).fit().predict(table.drop_columns(["t"]).to_pandas())
    assert np.mean(np.asarray(guesses) == table["t"].to_numpy(zero_copy_only=False)) > 0.9


@pytest.mark.parametrize(
    ("edit", "check"),
    [
        (lambda files: files.params["rule"]["interaction"].update(pair=["m", "w"]), "rule_is_followed"),
        (lambda files: files.params["rule"]["interaction"].update(pair=[]), "rule"),
        (lambda files: files.params["rule"]["interaction"].update(rate=1), "rule"),
        (lambda files: files.params["rule"]["interaction"].update(purpose="something else"), "rule"),
        (lambda files: files.params["rule"]["interaction"].update(gain=700), "rule"),
        (_moved_cut, "rule_is_followed"),
        (lambda files: _rechosen(files, sensitivity=1, rate=2 * _of_choice(files)["rate"]), "account_lines"),
        (lambda files: _rechosen(files, rate=_of_choice(files)["rate"] // 2), "account_lines"),
        (lambda files: _of_choice(files).update(mechanism="exponential"), "account_lines"),
    ],
    ids=["another pair", "no pair", "another rate", "another purpose", "a key more", "another cut",
         "half the sensitivity", "half the rate", "another mechanism"],
)  # fmt: skip
def test_another_choice_of_a_pair_than_the_rule_makes_is_refused(
    led: Files, edit: Edit, check: str, tmp_path: Path
) -> None:
    """The rule sets the existence and cost of a choice of a pair, and the start of the tree that follows from it."""
    code, failed = verdict(forged(led, edit, tmp_path))
    assert code == 1
    assert check in failed


@pytest.mark.parametrize(
    "edit",
    [
        lambda files: files.params["rule"].update(interaction=None),
        lambda files: files.params["accounting"].remove(_of_choice(files)),
        lambda files: files.params["rule"]["interaction"].update(pair=["w", "n"]),
        lambda files: files.params["rule"]["interaction"].update(pair=["n", "t"]),
        lambda files: files.params["rule"]["interaction"].pop("pair"),
        lambda files: files.params["rule"]["interaction"].update(rate=float(_of_choice(files)["rate"])),
        lambda files: files.params["rule"].pop("interaction"),
        _unchosen,
    ],
    ids=[
        "nothing is said to be chosen",
        "no line",
        "in another order",
        "with the target",
        "no pair is said",
        "a rate that is no integer",
        "no word",
        "no line and no word",
    ],
)
def test_a_release_without_the_choice_that_the_rule_asks_for_is_none(led: Files, edit: Edit, tmp_path: Path) -> None:
    """The rule cannot be followed then: it is not a release that can be checked."""
    assert verdict(forged(led, edit, tmp_path))[0] == 3


def test_a_choice_of_a_pair_without_a_reading_is_no_rule_of_any_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A forger that skips the reading and pays for all else, to the unit, took another branch of the rule."""
    table, policy = _led_table()
    whole = PairQuestions.of
    monkeypatch.setattr(
        PairQuestions, "of", lambda *told, **more: replace(whole(*told, **more), for_reading=Fraction(0))
    )
    said = PairFindings.to_params
    monkeypatch.setattr(PairFindings, "to_params", lambda *told: {"interaction": said(*told)["interaction"]})
    told = {"method": "dp-forest", "epsilon": 2.0, "policy": policy, "ledger": None}
    with pytest.raises(InternalError, match="central_rule"):
        anonkit.release(table, output=tmp_path / "out.parquet", **told)


def test_a_choice_that_the_rule_does_not_ask_for_is_refused(few_rows: Files, tmp_path: Path) -> None:
    """Of so few rows it would be wrong most often."""
    told = {"purpose": "interacting pair", "rate": 1, "pair": []}
    code, failed = verdict(forged(few_rows, lambda files: files.params["rule"].update(interaction=told), tmp_path))
    assert code == 1
    assert "rule" in failed


NAMES = ["a", "b", "c", "d", "e"]


def grid_of(*attributes: AttributeSize) -> PairGrid:
    """The grid of the first attributes, numbers in eight cells."""
    return PairGrid(places=tuple(range(len(attributes))), attributes=attributes, apart=8)


def tree_of(grid: PairGrid) -> list[dict[str, Any]]:
    """The nodes of a tree that is the grid and nothing else, as they are published."""
    nodes: list[dict[str, Any]] = [{}]
    level = [0]
    for divisions in grid.levels:
        below = []
        for number, division in zip(level, divisions, strict=True):
            if division is None:
                continue
            at, split = division
            children = [len(nodes), len(nodes) + 1]
            nodes += [{}, {}]
            nodes[number].update(attribute=NAMES[at], at=split, children=children)
            below += children
        level = below
    return nodes


SIZES = st.builds(
    lambda number, size, missing: AttributeSize(codes=(64 if number else size) + missing, cells=64 * number),
    st.booleans(), st.integers(2, 6), st.booleans(),
)  # fmt: skip


@given(st.lists(SIZES, min_size=2, max_size=3), st.data())
def test_a_tree_that_begins_with_the_grid_passes_and_no_other_does(
    attributes: list[AttributeSize], data: st.DataObject
) -> None:
    """Another cut, another attribute, a node that is not divided, a node of one child: each is refused."""
    grid = grid_of(*attributes)
    tree = tree_of(grid)
    assert is_followed(grid, tree, NAMES)
    inner = [number for number, node in enumerate(tree) if node]
    node = tree[data.draw(st.sampled_from(inner))]
    match data.draw(st.sampled_from(["cut", "attribute", "leaf", "one child"])):
        case "cut":
            node["at"] += 1
        case "attribute":
            node["attribute"] = NAMES[NAMES.index(node["attribute"]) - 1]
        case "leaf":
            node.clear()
        case _:
            node["children"] = node["children"][:1]
    assert not is_followed(grid, tree, NAMES)


@pytest.mark.parametrize("deep", [False, True])
def test_a_cell_above_the_last_level_stays_whole_and_one_on_it_may_be_divided(deep: bool) -> None:
    """Words are taken off one by one: the first is a cell long before the last level, where paid choices begin."""
    grid = grid_of(AttributeSize(codes=4), AttributeSize(codes=2))
    tree = tree_of(grid)
    level = {0: 0}
    for number, node in enumerate(tree):
        level.update(dict.fromkeys(node.get("children", ()), level[number] + 1))
    at = next(n for n, node in enumerate(tree) if not node and (level[n] == len(grid.levels)) == deep)
    tree[at] = {"attribute": "b", "at": 0, "children": [len(tree), len(tree) + 1]}
    assert is_followed(grid, [*tree, {}, {}], NAMES) == deep
