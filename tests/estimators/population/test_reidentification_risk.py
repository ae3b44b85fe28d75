"""Risk against a file of the population, worked out by hand.

Risk by log-linear models: against populations whose samples were drawn, and what the models fit.

Individual risk by weights: the published figures, an independent integral, and households.

Population uniques: constants of Adult, the models' own equations, and tables where nothing is to fit.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.estimators.reidentification_risk import (
    MOST_CELLS,
    PitmanModel,
    SampleClasses,
    SlideNegativeBinomial,
    all_pairs,
    by_rule,
    fit_pitman,
    fit_slide_negative_binomial,
    household_risk,
    individual_risk,
    main_effects,
    matched_classes,
    pitman,
    sample_unique_risk,
    shlosser,
    slide_negative_binomial,
    zayatz,
)

PUBLISHED = [
    (3, 108.0, 0.01355297),
    (1, 45.5, 0.08579129),
    (1, 17.0, 0.17707583),
    (2, 100.0, 0.01877883),
    (1, 123.5, 0.03931625),
    (2, 110.0, 0.01714426),
    (2, 84.5, 0.02204233),
    (1, 541.0, 0.01165448),
    (1, 8.0, 0.29706308),
    (1, 5.0, 0.40235948),
]
"""Rows of a class, its estimated people, and the exact risk: two small tables that statistics offices test with."""


@pytest.mark.parametrize(("rows", "people", "risk"), PUBLISHED)
def test_published_figures(rows: int, people: float, risk: float) -> None:
    """The hypergeometric function gives the exact figures, not those of the usual approximation."""
    assert individual_risk(np.array([rows]), np.array([people])) == pytest.approx([risk], abs=6e-9)


@given(rows=st.integers(1, 3000), p=st.floats(1e-8, 1.0))
def test_the_integral(rows: int, p: float) -> None:
    """E[1/F | f] is the integral of y^(f-1) p / (p + (1-p) y) over y from 0 to 1, however large the class."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    # y = exp(-x / f): pieces of x in which the integrand is smooth
    total, cuts = 0.0, np.concatenate([np.arange(0, 45, 1.0), [45.0]])
    for low, high in pairwise(cuts.tolist()):
        x = (high + low) / 2 + (high - low) / 2 * nodes
        total += float((high - low) / 2 * weights @ (np.exp(-x) * p / (p + (1 - p) * np.exp(-x / rows)))) / rows
    assert individual_risk(np.array([rows]), np.array([rows / p]))[0] == pytest.approx(total, rel=1e-8)


@given(rows=st.integers(1, 10**6), people=st.floats(1.0, 1e9))
def test_bounds(rows: int, people: float) -> None:
    """A risk is at least one over the expected people of its class, and at most one over its rows."""
    (risk,) = individual_risk(np.array([rows]), np.array([rows * people]))
    assert 1 / (rows * people) * (1 - 1e-9) <= risk <= 1 / rows * (1 + 1e-9)


def test_everybody_is_in_the_sample() -> None:
    """If a class has as many people as rows its risk is one over them."""
    assert individual_risk(np.array([1, 2, 3, 900]), np.array([1.0, 2.0, 3.0, 900.0])) == pytest.approx(
        [1, 1 / 2, 1 / 3, 1 / 900]
    )


@pytest.mark.parametrize(("rows", "people"), [(0, 5.0), (3, 2.5), (1, float("nan"))])
def test_what_is_no_class_is_refused(rows: int, people: float) -> None:
    """No rows, fewer people than rows, no number."""
    with pytest.raises(ValueError, match="a class has at least one row"):
        individual_risk(np.array([rows]), np.array([people]))


def test_households() -> None:
    """Anybody of a household may be found; a person alone has their own risk, and a certain one makes it certain."""
    risk = household_risk(np.array([0.1, 0.2, 0.5, 1.0, 0.3]), np.array([0, 0, 1, 2, 2]))
    assert risk == pytest.approx([0.28, 0.28, 0.5, 1.0, 1.0])


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=30))
def test_a_household_is_at_no_less_risk_than_anybody_of_it(people: list[tuple[float, int]]) -> None:
    """And at no more than the sum."""
    risk, household = np.array([r for r, _ in people]), np.array([h for _, h in people])
    found = household_risk(risk, household)
    assert (found >= risk - 1e-12).all()
    assert (found <= np.bincount(household, weights=risk)[household] + 1e-12).all()


def test_a_small_table_by_hand() -> None:
    """Expected rows over the fraction: nine cells whose fitted counts are known, at one per cent and at all of it."""
    expected = np.array([0.5] * 4 + [1.0] + [0.4] * 2 + [0.2])
    tau1, tau2 = sample_unique_risk(expected, 0.5)
    assert tau1 == pytest.approx(4 * math.exp(-0.5) + math.exp(-1) + 2 * math.exp(-0.4) + math.exp(-0.2))
    assert tau2 == pytest.approx(sum((1 - math.exp(-v)) / v for v in expected))
    assert sample_unique_risk(expected, 0.01)[0] == pytest.approx(float(np.exp(-99 * expected).sum()))
    assert sample_unique_risk(expected, 1.0) == (8.0, 8.0)


def test_the_figure_of_another_package_is_that_of_half_the_population() -> None:
    """sdcMicro's `modRisk` gives .553 of nine cells at 1 %: (1 - f) times the rows, where the formula divides by f."""
    expected = np.array([0.5] * 4 + [1.0] + [0.4] * 2 + [0.2])
    assert sample_unique_risk(expected, 1 / 1.99)[0] / 9 == pytest.approx(0.553, abs=5e-4)
    assert sample_unique_risk(expected, 0.01)[0] / 9 < 1e-8


@given(st.lists(st.floats(1e-9, 50), min_size=1, max_size=20), st.floats(0.001, 1))
def test_right_matches_are_no_fewer_than_population_uniques(expected: list[float], fraction: float) -> None:
    """Tau 1 is at most tau 2, and that at most the number of sample uniques."""
    tau1, tau2 = sample_unique_risk(np.array(expected), fraction)
    assert 0 <= tau1 <= tau2 * (1 + 1e-9) <= len(expected) * (1 + 1e-9)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=60))
def test_the_models_have_the_margins_of_the_table(rows: list[tuple[int, int, int]]) -> None:
    """Main effects are products of shares; two columns, or one, fit exactly."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    by_hand = [len(rows) * math.prod(float((c == c[at]).mean()) for c in columns) for at in range(len(rows))]
    assert main_effects(columns, columns) == pytest.approx(by_hand)
    two = all_pairs(columns[:2], columns[:2])
    assert two is not None
    counts = [sum(other[:2] == row[:2] for other in rows) for row in rows]
    assert two == pytest.approx(counts, abs=1e-3)
    one = all_pairs(columns[:1], columns[:1])
    assert one is not None
    assert one == pytest.approx([float((columns[0] == value).sum()) for value in columns[0]])


def test_all_pairs_meet_the_pairs_of_three_columns() -> None:
    """Summed over the cells of a pair, the expected rows are those of the table."""
    draw = np.random.default_rng(3)
    first = draw.integers(0, 3, 4000)
    columns = [first, (first + draw.integers(0, 2, 4000)) % 3, draw.integers(0, 2, 4000) | (first == 2)]
    cells = np.indices((3, 3, 2)).reshape(3, -1)
    of_cells = all_pairs(columns, list(cells))
    assert of_cells is not None
    for pair in ((0, 1), (0, 2), (1, 2)):
        wanted, reached = np.zeros((3, 3)), np.zeros((3, 3))
        np.add.at(wanted, tuple(columns[at] for at in pair), 1)
        np.add.at(reached, tuple(cells[at] for at in pair), of_cells)
        assert reached == pytest.approx(wanted, abs=1e-2)


def test_too_many_cells_are_not_fitted() -> None:
    """The full table is too large: the model states it."""
    wide = np.arange(int(math.sqrt(MOST_CELLS)) + 1)
    assert all_pairs([wide, wide], [wide, wide]) is None
    assert main_effects([wide, wide], [wide, wide]) == pytest.approx(1 / wide.size)


def test_uniques_of_a_population_that_is_independent() -> None:
    """Of a sample from independent columns, main effects find how many sample uniques are population uniques."""
    draw = np.random.default_rng(11)
    n, fraction = 40_000, 0.1
    population = [
        np.minimum(draw.geometric(0.15, n), 30),
        draw.integers(0, 40, n),
        np.minimum(draw.geometric(0.4, n), 9),
    ]
    key = np.ravel_multi_index(population, (31, 40, 10))
    sizes = np.bincount(key)
    taken = draw.permutation(n)[: int(n * fraction)]
    sample = [column[taken] for column in population]
    alone = np.bincount(key[taken], minlength=sizes.size)[key[taken]] == 1
    truth1 = int((sizes[key[taken]][alone] == 1).sum())
    truth2 = float((1 / sizes[key[taken]][alone]).sum())
    tau1, tau2 = sample_unique_risk(main_effects(sample, [column[alone] for column in sample]), fraction)
    assert tau1 == pytest.approx(truth1, rel=0.25)
    assert tau2 == pytest.approx(truth2, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.2])
def test_both_models_bracket_the_truth_on_adult(adult: pa.Table, fraction: float) -> None:
    """Of samples of Adult main effects find too many population uniques, and all pairs too few."""
    names = ("sex", "age", "race", "marital-status", "education")
    population = [np.unique(adult[name].to_numpy(zero_copy_only=False), return_inverse=True)[1] for name in names]
    key = np.ravel_multi_index(population, [int(column.max()) + 1 for column in population])
    sizes = np.bincount(key)
    taken = np.random.default_rng(1).permutation(key.size)[: round(fraction * key.size)]
    alone = np.bincount(key[taken], minlength=sizes.size)[key[taken]] == 1
    truth = sizes[key[taken]][alone]
    sample = [column[taken] for column in population]
    at = [column[alone] for column in sample]
    pairs = all_pairs(sample, at)
    assert pairs is not None
    high, low = sample_unique_risk(main_effects(sample, at), fraction), sample_unique_risk(pairs, fraction)
    assert low[0] < int((truth == 1).sum()) < high[0]
    assert low[1] < float((1 / truth).sum()) < high[1]


def _histogram(text: str) -> dict[int, int]:
    """Return class sizes and their numbers, written as size:number."""
    return {int(size): int(number) for size, number in (pair.split(":") for pair in text.split())}


ADULT: dict[str, dict[int, int]] = {
    "nine": _histogram(
        "1:15512 2:2098 3:754 4:375 5:189 6:155 7:97 8:73 9:39 10:37 11:29 12:18 13:23 14:14 15:15 16:9 17:11 "
        "18:10 19:10 20:5 21:3 22:4 23:3 24:2 25:1 26:3 27:5 29:1 30:2 32:1 34:1 35:1 36:1 45:1 "
    ),
    "eight": _histogram(
        "1:14021 2:2026 3:796 4:379 5:209 6:153 7:114 8:67 9:55 10:54 11:47 12:32 13:28 14:13 15:16 16:16 "
        "17:10 18:9 19:12 20:9 21:4 22:4 23:5 24:2 25:3 26:4 27:7 29:2 30:3 32:2 34:3 35:1 36:1 37:1 45:1 "
    ),
    "five": _histogram(
        "1:3187 2:908 3:443 4:299 5:186 6:155 7:135 8:93 9:92 10:53 11:50 12:32 13:33 14:22 15:31 16:21 17:19 "
        "18:13 19:12 20:15 21:12 22:10 23:11 24:8 25:14 26:6 27:8 28:5 29:12 30:4 31:6 32:10 33:4 34:5 35:2 "
        "36:2 37:3 38:4 39:3 40:2 41:1 42:3 43:4 44:2 45:1 46:5 47:2 48:2 49:2 50:2 51:2 52:3 53:1 54:3 55:3 "
        "56:2 57:7 58:2 59:2 61:6 62:3 65:1 66:1 67:3 68:2 69:6 70:4 71:6 72:2 73:2 74:2 75:1 76:3 77:2 78:2 "
        "79:1 80:3 81:1 82:2 83:2 88:4 89:2 91:2 93:2 95:1 96:1 98:1 99:1 100:2 102:2 103:1 104:1 105:1 112:1 "
        "115:1 117:3 118:3 119:1 122:1 125:1 126:1 129:1 135:2 140:1 154:1 "
    ),
}
"""Class sizes of Adult, the 30,162 rows without missing cells, by nine, eight and five columns."""
MODELS = {"nine": (3176.2334, 0.717949), "eight": (2559.8632, 0.700032), "five": (481.2728, 0.462896)}
"""Theta and alpha of Pitman's model."""
ESTIMATES = [
    ("nine", 0.01, 0.144608, 0.271713, 0.204679),
    ("nine", 0.1, 0.276850, 0.320740, 0.249977),
    ("nine", 0.2, 0.336628, 0.357710, 0.319459),
    ("eight", 0.01, 0.119879, 0.223548, 0.157157),
    ("eight", 0.1, 0.239172, 0.273978, 0.206926),
    ("eight", 0.2, 0.294449, 0.311318, 0.280369),
    ("eight", 0.5, 0.387596, 0.384573, 0.382214),
    ("five", 0.01, 0.009135, 0.014816, 0.003483),
    ("five", 0.1, 0.031463, 0.032218, 0.027061),
    ("five", 0.2, 0.045654, 0.044258, 0.045340),
    ("five", 0.5, 0.074682, 0.071806, 0.073058),
]
"""Columns, fraction, and the estimates of Pitman, Zayatz and SNB."""

histograms = st.dictionaries(st.integers(1, 40), st.integers(1, 60), min_size=1, max_size=8)
fractions = st.floats(0.005, 1.0)


def _adult(columns: str, fraction: float) -> SampleClasses:
    return SampleClasses.of(ADULT[columns].items(), fraction)


@pytest.mark.parametrize(("columns", "fraction", "by_pitman", "by_zayatz", "by_snb"), ESTIMATES)
def test_estimates_of_adult(columns: str, fraction: float, by_pitman: float, by_zayatz: float, by_snb: float) -> None:
    """Each model gives the figure that independent implementations agree on, or that its right equations have."""
    sample = _adult(columns, fraction)
    estimates = (pitman(sample), zayatz(sample), slide_negative_binomial(sample))
    assert estimates == pytest.approx((by_pitman, by_zayatz, by_snb), abs=6e-7)


@pytest.mark.parametrize("columns", MODELS)
def test_most_likely_model_of_pitman(columns: str) -> None:
    """Theta and alpha are those of the literature's likelihood, whatever the fraction."""
    model = fit_pitman(_adult(columns, 0.1))
    assert model is not None
    assert (model.theta, model.alpha) == pytest.approx(MODELS[columns], rel=1e-6)


def test_the_constants_of_the_reference() -> None:
    """Zayatz and Pitman meet the constants that the reference implementation tests itself with."""
    assert pitman(_adult("nine", 0.1)) == pytest.approx(0.27684993883653597, rel=1e-7)
    assert pitman(_adult("nine", 0.01)) == pytest.approx(0.1446083531167384, rel=1e-6)
    assert zayatz(_adult("nine", 0.2)) == pytest.approx(0.3577099234829125, rel=1e-13)
    assert zayatz(_adult("nine", 1.0)) == pytest.approx(0.5142895033485844, rel=1e-15)


def test_pitman_stays_where_alpha_is_not_negative() -> None:
    """If the likelihood would rise beyond alpha = 0, the model is Ewens': it expects as many classes as seen."""
    sample = SampleClasses.of({1: 40, 2: 20, 3: 10, 4: 5, 5: 4, 10: 3}.items(), 0.1)
    model = fit_pitman(sample)
    assert model is not None
    assert model.alpha == 0
    assert (model.theta / (model.theta + np.arange(sample.rows))).sum() == pytest.approx(sample.classes, rel=1e-6)
    assert pitman(sample) == pytest.approx(0.0320, abs=5e-5)


@pytest.mark.quick_cases("3.0-0.9", "-0.1-0.5")
@pytest.mark.parametrize(("theta", "alpha"), [(50.0, 0.3), (-0.1, 0.5), (400.0, 0.0), (3.0, 0.9)])
def test_pitman_finds_the_model_a_table_was_drawn_from(theta: float, alpha: float) -> None:
    """Of a table grown by the model's own urn, theta may be negative."""
    draw = np.random.default_rng(5)
    sizes: list[int] = []
    for n in range(3000):
        new = draw.random() * (n + theta) < theta + alpha * len(sizes) if n else True
        if new:
            sizes.append(1)
        else:
            weights = np.array(sizes) - alpha
            sizes[int(draw.choice(len(sizes), p=weights / weights.sum()))] += 1
    model = fit_pitman(SampleClasses.of(zip(*np.unique(sizes, return_counts=True), strict=True), 0.5))
    assert model is not None
    assert model.alpha == pytest.approx(alpha, abs=0.08)
    assert model.theta > -model.alpha
    population = PitmanModel(theta=theta, alpha=alpha)
    assert model.share(6000) == pytest.approx(population.share(6000), rel=0.35, abs=1e-3)


@given(alpha=st.floats(0.05, 4), beta=st.floats(0.05, 0.95), fraction=st.floats(0.01, 0.99))
def test_snb_expects_what_drawing_rows_from_its_classes_gives(alpha: float, beta: float, fraction: float) -> None:
    """Ones and twos are those of binomial draws from classes whose size less one is negative binomial, summed up."""
    from scipy.stats import binom, nbinom

    sizes = np.arange(1, 900)
    share = nbinom.pmf(sizes - 1, alpha, beta)
    drawn = [float(share @ binom.pmf(times, sizes, fraction)) for times in (1, 2)]
    expected = SlideNegativeBinomial(classes=1.0, alpha=alpha, beta=beta).expected(fraction)
    assert expected == pytest.approx(drawn, rel=1e-6)


@given(histogram=histograms, fraction=fractions)
def test_snb_solves_both_equations_or_says_that_it_has_no_solution(histogram: dict[int, int], fraction: float) -> None:
    """A model that is returned expects the ones and twos of the table."""
    sample = SampleClasses.of(histogram.items(), fraction)
    model = fit_slide_negative_binomial(sample)
    if model is not None:
        assert model.expected(fraction) == pytest.approx((sample.of_size(1), sample.of_size(2)), rel=1e-6)
        assert model.alpha > 0
        assert 0 < model.beta < 1


@given(histogram=histograms, fraction=fractions)
def test_every_estimate_is_a_share(histogram: dict[int, int], fraction: float) -> None:
    """No histogram gives more than all, less than nothing or no number; there are as many classes as were seen."""
    sample = SampleClasses.of(histogram.items(), fraction)
    for estimate in (pitman(sample), zayatz(sample), slide_negative_binomial(sample), by_rule(sample)):
        assert estimate is None or 0 <= estimate <= 1
    assert shlosser(sample) >= sample.classes


@given(histogram=histograms)
def test_a_whole_population_has_its_own_share_of_uniques(histogram: dict[int, int]) -> None:
    """At a fraction of 1 nothing is estimated."""
    sample = SampleClasses.of(histogram.items(), 1.0)
    own = histogram.get(1, 0) / sum(size * count for size, count in histogram.items())
    assert {pitman(sample), zayatz(sample), slide_negative_binomial(sample), by_rule(sample)} == {own}


@pytest.mark.parametrize("fraction", [0.01, 0.3])
def test_tables_in_which_all_rows_are_alone_or_none_is(fraction: float) -> None:
    """All rows alone, one class of all rows, no class of one row, no class of two rows."""
    alone, together = SampleClasses.of([(1, 500)], fraction), SampleClasses.of([(500, 1)], fraction)
    for estimate in (pitman, zayatz, slide_negative_binomial, by_rule):
        assert estimate(alone) == 1
        assert estimate(together) == 0
    assert fit_pitman(alone) is None
    assert fit_pitman(together) is None
    no_ones = SampleClasses.of([(2, 30), (7, 4)], fraction)
    assert zayatz(no_ones) == slide_negative_binomial(no_ones) == 0
    assert 0 <= (pitman(no_ones) or 0.0) < 0.1
    no_twos = SampleClasses.of([(1, 30), (7, 4)], fraction)
    assert slide_negative_binomial(no_twos) is None
    assert 0 < (pitman(no_twos) or 0.0) <= 1
    assert 0 < zayatz(no_twos) <= 1


def test_one_row_is_alone() -> None:
    """A table of one row is one class, of one row."""
    assert by_rule(SampleClasses.of([(1, 1)], 0.5)) == 1


def test_one_pair_among_unique_rows() -> None:
    """Theta is near half the square of the rows: large, and found."""
    estimate = pitman(SampleClasses.of([(1, 9998), (2, 1)], 0.1))
    assert estimate is None or estimate > 0.98


@pytest.mark.parametrize(("fraction", "taken"), [(0.01, "pitman"), (0.1, "pitman"), (0.2, "snb"), (0.5, "snb")])
def test_the_rule_by_fraction(fraction: float, taken: str) -> None:
    """Up to a tenth Pitman, above it the smaller one of Zayatz and SNB."""
    sample = _adult("eight", fraction)
    assert by_rule(sample) == {"pitman": pitman, "snb": slide_negative_binomial}[taken](sample)
    assert by_rule(_adult("five", 0.2)) == zayatz(_adult("five", 0.2))


def test_the_rule_falls_back_on_zayatz() -> None:
    """The rule falls back if SNB has no solution."""
    sample = SampleClasses.of([(1, 30), (7, 4)], 0.3)
    assert by_rule(sample) == zayatz(sample)


@pytest.mark.parametrize(
    ("histogram", "fraction"), [([], 0.5), ([(0, 3)], 0.5), ([(1, -3)], 0.5), ([(1, 3)], 0.0), ([(1, 3)], 1.1)]
)
def test_what_is_no_sample_is_refused(histogram: list[tuple[int, int]], fraction: float) -> None:
    """Sizes from 1, counts from 1, a fraction above 0 and at most 1."""
    with pytest.raises(ValueError, match=r"class|fraction"):
        SampleClasses.of(histogram, fraction)


def test_histograms_are_adults() -> None:
    """The histograms above have Adult's rows, classes, ones and twos."""
    samples = [SampleClasses.of(histogram.items(), 0.1) for histogram in ADULT.values()]
    assert {sample.rows for sample in samples} == {30162}
    found = [(sample.classes, sample.of_size(1), sample.of_size(2)) for sample in samples]
    assert found == [(19502, 15512, 2098), (18109, 14021, 2026), (6072, 3187, 908)]
    assert math.isclose(samples[0].share_of_uniques, 0.5142895033485844)


@pytest.mark.slow
@pytest.mark.parametrize(("fraction", "factor"), [(0.05, 1.1), (0.1, 1.1), (0.2, 1.1), (0.5, 1.1)])
def test_the_rule_on_samples_of_adult(adult: pa.Table, fraction: float, factor: float) -> None:
    """If all of Adult is the population, the rule is near the truth by eight columns."""
    import pandas as pd

    names = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
    classes = (
        pd.DataFrame({name: adult[name].to_pandas() for name in names}).groupby(list(names), dropna=False).ngroup()
    )
    truth = float((np.bincount(classes) == 1).sum() / classes.size)
    found = []
    for seed in range(3):
        taken = np.random.default_rng(seed).permutation(classes.size)[: round(fraction * classes.size)]
        sizes = np.bincount(np.bincount(classes.to_numpy()[taken]))
        found.append(by_rule(SampleClasses.of(((at, int(sizes[at])) for at in range(1, sizes.size)), fraction)))
    assert truth / factor < float(np.mean(found)) < truth * factor


def test_the_measures_are_those_worked_out_by_hand() -> None:
    """Three rows among ten people, one of two, two of two; one class is nowhere in the population."""
    found = matched_classes(np.array([3, 1, 2, 4]), np.array([10, 2, 2, 0]))
    assert found["unmatched_classes"] == 1
    assert found["k_map"] == 2
    assert found["journalist"]["max"] == 0.5
    marketer = (3 / 10 + 1 / 2 + 2 / 2) / 6
    assert found["marketer"] == pytest.approx(marketer)
    assert found["journalist"]["mean"] == pytest.approx(max(3 / 14, marketer))
    assert found["delta_presence"]["max"] == 1.0
    assert found["delta_presence"]["mean"] == pytest.approx((3 * 0.3 + 1 * 0.5 + 2 * 1.0) / 6)


def test_a_population_that_lacks_somebody_gives_no_share_above_one() -> None:
    """Five rows of four people."""
    assert matched_classes(np.array([5]), np.array([4]))["delta_presence"] == {"max": 1.0, "mean": 1.0}


def test_a_population_of_others_has_no_k() -> None:
    """No class is met."""
    assert matched_classes(np.array([5, 1]), np.array([0, 0])) == {"unmatched_classes": 2, "k_map": None}
