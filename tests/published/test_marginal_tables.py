"""Tables of columns and pairs: groups of neighbours, cells, and a schema that is read back."""

from __future__ import annotations

import json

import numpy as np
import pytest

from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError
from anonkit.published.marginal_tables import MarginalSchema, OneWayTable, cells_of, groups_of_values
from anonkit.published.tree_attributes import Attribute, Split


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
