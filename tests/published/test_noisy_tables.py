"""Noisy tables: their noise, what they say together, the rows drawn from them.

Missing cells that do not stand out from their noise are none; those that do keep their noisy count.

Tables of columns and pairs: groups of neighbours, cells, and a schema that is read back.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from anonkit.domains.number_bins import Categories, Grid
from anonkit.dp_trees.marginals.mixture_fit import Mixture, without_values
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.exact_samplers import UniformStream, discrete_laplace, noisy_counts
from anonkit.mechanisms.noisy_histograms import rows_of
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy
from anonkit.published.noisy_tables import (
    MarginalSchema,
    NoisyTable,
    NoisyTables,
    OneWayTable,
    cells_of,
    groups_of_values,
    is_faint,
    noise_variance,
)
from anonkit.published.tree_model import Attribute, Split
from anonkit.randomness import Randomness
from tests.published.jobs_and_ages import jobs_and_ages


@pytest.mark.parametrize("values", [1, 5, 12, 100])
@pytest.mark.parametrize("most", [1, 4, 12])
def test_groups_are_neighbours_of_about_one_size(values: int, most: int) -> None:
    """At most so many, none empty, ascending; missing is in the last."""
    groups = groups_of_values(values, has_missing=True, most=most)
    sizes = np.bincount(groups[:-1])
    assert len(sizes) == min(values, most)
    assert sizes.max() - sizes.min() <= 1
    assert (np.diff(groups[:-1]) >= 0).all()
    assert groups[-1] == len(sizes) - 1
    assert len(groups_of_values(values, has_missing=False, most=most)) == values


def test_cells_number_the_combinations_of_groups() -> None:
    """The last column varies fastest."""
    groups = [np.array([0, 0, 1]), np.array([0, 1, 2])]
    codes = [np.array([0, 1, 2, 2]), np.array([0, 2, 0, 2])]
    assert cells_of(groups, codes).tolist() == [0, 2, 3, 5]


def test_groups_that_do_not_fit_the_counts_are_refused() -> None:
    """One for each value, numbered from 0 on."""
    counts = np.zeros((2, 3), dtype=np.int64)
    OneWayTable(name="a", counts=counts, rate=1 << 52, groups=np.array([0, 1, 1]))
    for groups in ([0, 1], [0, 2, 2], [1, 1, 2]):
        with pytest.raises(ParameterError, match="groups"):
            OneWayTable(name="a", counts=counts, rate=1, groups=np.array(groups))


def test_a_schema_is_read_back() -> None:
    """With a target and without; the target is first, and splits tables or is a column of its own."""
    attributes = tuple(
        Attribute(name=name, domain=domain, split=Split.MULTIWAY)
        for name, domain in (
            ("age", Grid(lower=0, upper=10, cells=5, has_missing=True)),
            ("sex", Categories(values=("f", "m"))),
        )
    )
    schema = MarginalSchema(attributes=attributes, target="ill", classes=Categories(values=("no", "yes")))
    assert schema.sizes == {"ill": 2, "age": 6, "sex": 2}
    assert schema.column_names(anchored=True) == ("age", "sex")
    assert schema.column_names(anchored=False) == ("age", "sex", "ill")
    for one in (schema, MarginalSchema(attributes=attributes, target=None, classes=None)):
        assert MarginalSchema.from_params(json.loads(json.dumps(one.to_params()))) == one
    with pytest.raises(ParameterError, match="classes"):
        MarginalSchema(attributes=attributes, target="ill", classes=None)


RATE = 1 << 51
COLUMNS = {
    "age": {"type": "integer", "bounds": [0, 79]},
    "wage": {"bounds": [0, 100]},
    "job": {"categories": ["a", "b", "c"]},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
POLICY = replace(Policy.from_dict({"columns": COLUMNS}), cell_by_cell=True)


def test_the_threshold_is_of_the_weighted_mean() -> None:
    """Counts without a table, at the threshold and just above; two tables are distinguished from noise by both."""
    assert is_faint([], 3)
    assert is_faint([(np.array([2, 4]), 2.0)], 3)
    assert not is_faint([(np.array([2, 5]), 2.0)], 3)
    assert not is_faint([(np.array([2, 4]), 2.0)], 0)
    # each at 2.5 deviations of its own: together at 3.5
    assert is_faint([(np.array([5]), 4.0)], 3)
    assert not is_faint([(np.array([5]), 4.0), (np.array([5]), 4.0)], 3)


def tables(missing: int, *, above: float = 3.0) -> NoisyTables:
    """Two classes of 100 rows by three values and missing."""
    domain = Categories(values=("a", "b", "c"), has_missing=True)
    counts = np.array([[60, 30, 10 - missing, missing], [20, 30, 50 - missing, missing]])
    return NoisyTables(
        target="ill",
        classes=Categories(values=("no", "yes")),
        class_counts=np.array([100, 100]),
        class_rate=RATE,
        tables=(NoisyTable(name="job", domain=domain, counts=counts, rate=RATE),),
        missing_above=above,
    )


def test_mass_of_faint_missing_goes_to_the_values() -> None:
    """Counts are those nearest to the others; what stands out, and what earlier versions wrote, stays as it is."""
    faint = tables(3)
    assert np.allclose(consistent_counts(faint, faint.tables[0]), [[61, 31, 8, 0], [21, 31, 48, 0]])
    loud = tables(9)
    assert np.allclose(consistent_counts(loud, loud.tables[0])[:, -1], 9)
    earlier = tables(3, above=0.0)
    assert np.allclose(consistent_counts(earlier, earlier.tables[0])[:, -1], 3)
    assert NoisyTables.from_params(faint.to_params()).missing_above == 3
    assert NoisyTables.from_params(earlier.to_params()).missing_above == 0


@pytest.mark.parametrize(("missing", "shown"), [(0, 0), (40, 1)])
def test_a_class_without_a_positive_count_is_spread_over_its_values(missing: int, shown: int) -> None:
    """Missing among them only where its count stands out."""
    table = NoisyTable(
        name="job",
        domain=Categories(values=("a", "b"), has_missing=True),
        counts=np.array([[90, 30, missing], [-4, -4, 0]]),
        rate=RATE,
    )
    noisy = replace(tables(0), class_counts=np.array([130, -9]), tables=(table,))
    drawn = rows_of(noisy, np.array([0, 300]), Randomness.seeded(1))
    assert set(drawn.codes[0].tolist()) == set(range(2 + shown))


def test_a_mixture_without_a_value_gives_its_share_to_the_others() -> None:
    """In proportion within a component; where it has nothing else, as in all components, or evenly."""
    shares = np.array([[0.5, 0.25, 0.25, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0]])
    mixture = Mixture(weights=np.array([0.5, 0.5]), shares=shares)
    without = without_values(mixture, np.array([2]), np.array([0, 3, 5]))
    assert np.allclose(without.shares[:, :3], [[2 / 3, 1 / 3, 0], [2 / 3, 1 / 3, 0]])
    assert np.array_equal(without.shares[:, 3:], shares[:, 3:])
    alone = Mixture(weights=np.ones(1), shares=np.array([[0.0, 0.0, 1.0]]))
    assert without_values(alone, np.array([2]), np.array([0, 3])).shares.tolist() == [[0.5, 0.5, 0.0]]


@pytest.mark.parametrize("method", ["dp-nb", "dp-marginals", "dp-forest"])
def test_a_column_shows_missing_as_often_as_the_table(method: str) -> None:
    """A column without missing cells shows none, but for one in 100; one with 10 % of them shows about as many."""
    rng = np.random.default_rng(2)
    n = 3_000
    age, job = rng.integers(0, 80, n), rng.choice(["a", "b", "c"], n)
    wage = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 100, n))
    ill = np.where(rng.random(n) < age / 90, "yes", "no")
    table = pa.table({"age": age, "wage": pa.array(wage, from_pandas=True), "job": job, "ill": ill})
    engine = LocalEngine()
    source = engine.scan(table, POLICY)
    lost = 0
    for seed in range(3):
        draft = make_method(method, {"epsilon": 2.0}).release(
            source, POLICY, engine=engine, rng=Randomness.seeded(seed)
        )
        (found,) = (pa.Table.from_batches(draft.data.batches(list(COLUMNS))),)
        shown = {name: found.column(name).null_count / found.num_rows for name in COLUMNS}
        lost += sum(shown[name] > 0 for name in ("age", "job", "ill"))
        assert 0.08 < shown["wage"] < 0.12
    assert lost <= 1


@pytest.mark.parametrize("cells", [1, 2, 20])
def test_noise_alone_shows_missing_in_less_than_one_of_100_columns(cells: int) -> None:
    """Of columns without missing cells, whatever the number of classes: by the law of their noise, not by a few."""
    noise = noisy_counts(np.zeros((5_000, cells), dtype=np.int64), 1 << 46, UniformStream(Randomness.seeded(3)))
    variance = noise_variance(1 << 46)
    assert sum(not is_faint([(own, variance)], 3) for own in noise) < 50


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_the_variance_is_that_of_the_noise(epsilon: float) -> None:
    """200,000 draws: within 5 % of 2 q / (1 - q)²."""
    rate = units_of(epsilon)
    drawn = discrete_laplace(200_000, rate, UniformStream(Randomness.seeded(1)))
    assert drawn.var() == pytest.approx(noise_variance(rate), rel=0.05)


def test_all_tables_together_tell_class_sizes_best() -> None:
    """Over 400 draws the pooled sizes are unbiased and have the variance that is stated, below that of any table."""
    found = np.array([jobs_and_ages(seed).class_sizes[0] for seed in range(400)])
    stated = jobs_and_ages().class_sizes[1][0]
    assert np.allclose(found.mean(axis=0), [100, 50], atol=5 * np.sqrt(stated / 400))
    assert found.var(axis=0).mean() == pytest.approx(stated, rel=0.2)
    assert stated < noise_variance(units_of(0.5))


def test_params_bring_the_tables_back() -> None:
    """Through JSON and back: the same counts, rates and domains."""
    tables = jobs_and_ages()
    again = NoisyTables.from_params(json.loads(json.dumps(tables.to_params())))
    assert again.to_params() == tables.to_params()
    assert isinstance(again.tables[0], NoisyTable)


@pytest.mark.parametrize("damage", [{"format": "other"}, {"class_rate": 0}, {"class_counts": [1]}, {"attributes": 3}])
def test_damaged_params_are_refused(damage: dict[str, object]) -> None:
    """No traceback, whatever is missing or contradicts itself."""
    with pytest.raises(ReleaseFormatError):
        NoisyTables.from_params({**jobs_and_ages().to_params(), **damage})
