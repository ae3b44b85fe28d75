"""Missing cells that noise alone makes are refused in files that say that they are left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Files, forged, verdict
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.central_marginal_plan import is_none, is_thresholded, shown_in_mixtures
from anonkit.checks.central_params import ALL_ROWS, Family, PublicColumn, PublicDomain, PublicFacts
from anonkit.errors import ReleaseFormatError
from anonkit.policy.declaration import Policy
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, MISSING_ABOVE, is_faint, noise_variance

POLICY = Policy.from_dict(
    {
        "columns": {
            "age": {"type": "integer", "bounds": [0, 79]},
            "wage": {"bounds": [0, 100]},
            "job": {"categories": ["a", "b", "c"]},
            "sex": {"categories": ["f", "m"], "missing": "first"},
            "ill": {"role": "target", "categories": ["no", "yes"]},
        }
    }
)
KINDS: dict[str, dict[str, Any]] = {
    "dp-nb": {"epsilon": 2.0},
    "dp-marginals": {"epsilon": 8.0},
    "dp-forest": {"epsilon": 2.0, "depth": 2},
}
COUNTS = st.lists(st.integers(-60, 200), max_size=6)


@given(st.lists(st.tuples(COUNTS, st.sampled_from([1 << 44, 1 << 49, 3 << 50])), min_size=1, max_size=3), st.booleans())
def test_the_threshold_is_that_of_the_methods(tables: list[tuple[list[int], int]], gaussian: bool) -> None:
    """The threshold is that of the methods, for any tables that count missing."""
    law = GAUSSIAN if gaussian else LAPLACE
    own = [(np.array(counts, dtype=np.int64), noise_variance(rate, law)) for counts, rate in tables]
    assert is_none(tables, gaussian=gaussian) is is_faint(own, MISSING_ABOVE)


@pytest.mark.parametrize("stated", [2, 0, True, "3", [3]])
def test_another_threshold_is_refused(stated: Any) -> None:
    """None at all is that of earlier versions."""
    with pytest.raises(ReleaseFormatError):
        is_thresholded({"missing_above": stated})
    assert is_thresholded({"missing_above": 3.0})
    assert not is_thresholded({})


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One true release of each kind: a tenth of the wages is missing, and nothing else."""
    rng = np.random.default_rng(6)
    n = 1_500
    age, job, sex = rng.integers(0, 80, n), rng.choice(["a", "b", "c"], n), rng.choice(["f", "m"], n)
    wage = np.where(rng.random(n) < 0.1, np.nan, 100 * rng.random(n))
    ill = np.where(rng.random(n) < (0.1 + 0.8 * (job == "c")), "yes", "no")
    table = pa.table({"age": age, "wage": pa.array(wage, from_pandas=True), "job": job, "sex": sex, "ill": ill})
    found = {}
    for kind, parameters in KINDS.items():
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        anonkit.release(table, method=kind, policy=POLICY, output=output, ledger=None, **parameters)
        found[kind] = Files.read(output)
    return found


def lose(name: str, every: int) -> Callable[[Files], None]:
    """Make some cells of a column missing."""

    def edit(files: Files) -> None:
        cells = files.table.column(name).combine_chunks()
        at = files.table.schema.get_field_index(name)
        rows = np.arange(len(cells))
        lost = cells.take(pa.array(rows, pa.int64(), mask=rows % every == 0))
        files.table = files.table.set_column(at, files.table.schema.field(at), lost)

    return edit


@pytest.mark.parametrize("kind", KINDS)
def test_missing_cells_that_the_counts_do_not_tell_are_refused(
    releases: dict[str, Files], kind: str, tmp_path: Path
) -> None:
    """A release as it was made validates; a handful of cells that go missing does not."""
    original = releases[kind]
    assert original.params["missing_above"] == 3
    assert original.table.column("age").null_count == original.table.column("job").null_count == 0
    assert original.table.column("wage").null_count > 100
    assert verdict(forged(original, lambda files: None, tmp_path)) == (0, ())
    code, failed = verdict(forged(original, lose("age", 400), tmp_path))
    assert code != 0
    assert any(name.endswith(":age") for name in failed)


def test_a_release_of_an_earlier_version_is_read_as_it_was_made(releases: dict[str, Files], tmp_path: Path) -> None:
    """Without the key a forest says nothing of missing cells, and its report names no check of them."""

    def edit(files: Files) -> None:
        files.params.pop("missing_above")
        made = files.report["verification"]["checks"]
        files.report["verification"]["checks"] = [one for one in made if not one["name"].startswith("missing:")]

    assert verdict(forged(releases["dp-forest"], edit, tmp_path)) == (0, ())


def test_mixtures_that_show_faint_missing_are_refused(releases: dict[str, Files], tmp_path: Path) -> None:
    """One unit of a share is enough."""

    def edit(files: Files) -> None:
        names = [table["name"] for table in files.params["tables"]]
        sizes = [len(table["counts"][0]) for table in files.params["tables"]]
        last = sum(sizes[: names.index("age") + 1]) - 1
        component = files.params["mixtures"][0]["shares"][0]
        largest = max(range(last - sizes[names.index("age")] + 1, last), key=component.__getitem__)
        component[last], component[largest] = 1, component[largest] - 1

    code, failed = verdict(forged(releases["dp-marginals"], edit, tmp_path))
    assert code != 0
    assert "mixtures" in failed


def test_pairs_tell_of_missing_where_it_has_a_group_of_its_own() -> None:
    """A count of 2.5 deviations in two tables stands out in both together, unless rare values share the group."""
    domain = PublicDomain(categories=("a", "b"), bounds=None, cells=2, has_missing=True)
    names = ("job", "town")
    columns = tuple(PublicColumn(name=name, domain=domain) for name in names)
    split = PublicFacts(family=Family.MARGINALS, parameters={}, target=ALL_ROWS, attributes=columns, has_target=False)
    rate = 1 << 50
    count = round(2.5 * math.sqrt(noise_variance(rate)))

    def shown(*groups: int, **changes: Any) -> int:
        tables = [{"name": name, "counts": [[90, 90, count]], "rate": rate, "groups": list(groups)} for name in names]
        pair = {"names": list(names), "rate": rate, "counts": [[[99, 0, 0], [0, 99, 0], [0, 0, count]]]}
        mixture = {"rows": 200, "weights": [1], "shares": [[9, 9, 1, 9, 9, 0]]}
        params = {"missing_above": 3, "tables": tables, "pairs": [pair], "mixtures": [mixture], **changes}
        return shown_in_mixtures(params, split, gaussian=False)

    wide = {"names": list(names), "rate": rate, "counts": [[[99, 0, 0], [0, 99, 0], [0, 0, 3 * count]]]}
    assert shown(0, 1, 2) == 1
    assert shown(0, 1, 2, pairs=[wide]) == 0
    assert shown(0, 1, 1, pairs=[wide]) == 1
    assert shown(0, 1, 2, missing_above=None) == 0
