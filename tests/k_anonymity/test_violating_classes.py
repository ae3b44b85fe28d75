"""Classes that the engine counts are those of the plain rule on rows, for any requirements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.domains.coded_columns import folded_column
from anonkit.engines import LocalEngine
from anonkit.errors import PolicyError
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_rows import ReleasableRows
from anonkit.k_anonymity.search.equivalence import AtLeastK, Partition
from anonkit.k_anonymity.search.greedy_selection import suppressed_rows
from anonkit.k_anonymity.sensitive_rules import settled_rules
from anonkit.k_anonymity.violating_classes import diversity_requirements, violating_classes
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.published.recoding import GlobalRecoding, UnchangedAxis

ASKED: list[dict[str, Any]] = [
    {}, {"alpha": 1.0}, {"l": 2}, {"entropy_l": 1.5}, {"recursive": "2,2"}, {"alpha": 0.7}, {"t": 0.25},
    {"t": 0.15, "l": 2},
]  # fmt: skip
ROWS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.integers(0, 2),
        st.integers(0, 3),
        st.sampled_from(["x", "X ", "y", "unknown", None]),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=50,
)


@given(ROWS, st.integers(2, 5), st.sampled_from(ASKED), st.booleans(), st.booleans())
def test_the_engine_finds_the_classes_of_the_plain_rule(
    rows: list[Any], k: int, asked: dict[str, Any], of_people: bool, missing_is_value: bool
) -> None:
    """k, l and t are looked at together, and again until no class is left that breaks one; with people too."""
    table = pa.Table.from_pylist([dict(zip("qnsvu", row, strict=True)) for row in rows])
    table = table.cast(pa.schema({"q": "string", "n": "int64", "s": "int64", "v": "string", "u": "int64"}))
    v = {"role": "sensitive", **({"missing": "category"} if missing_is_value else {})}
    known = {"role": "quasi_identifier"}
    columns = {
        "q": known,
        "n": known,
        "s": {"role": "sensitive"},
        "v": v,
        "u": {"role": "unit" if of_people else "insensitive"},
    }
    policy = Policy.from_dict({"columns": columns}).resolve(table.column_names, target_use=TargetUse.AS_DECLARED)
    model = AnonymityModel(k=k, **asked)
    recoding = GlobalRecoding(columns=(UnchangedAxis(name="q"), UnchangedAxis(name="n")))
    with LocalEngine() as engine:
        held = engine.hold(table)
        rules = settled_rules(model, held, policy, engine, ())
        found = violating_classes(model, held, policy, engine, recoding, ReleasableRows(needed=(), rules=rules))
        coded = {column.name: column for column in engine.encode(engine.hold(table), table.column_names)}
    units = coded["u"].codes.astype(np.int64) if of_people else None
    sensitive = [folded_column(coded[rule.name], rule.no_values) for rule in rules]
    requirements = [AtLeastK(k, units), *diversity_requirements(rules, sensitive, units=units)]
    partition = Partition.of([coded["q"].codes, coded["n"].codes], table.num_rows)
    broken = suppressed_rows(partition, requirements)
    classes = {tuple(row.values()) for row in found.classes.select(["q", "n"]).to_pylist()}

    assert found.n_recoded == table.num_rows
    assert found.n_rows == int(broken.sum())
    assert classes == {(row[0], row[1]) for row, gone in zip(rows, broken.tolist(), strict=True) if gone}


def test_rows_of_a_declared_bin_that_fewer_than_k_have_are_left_out() -> None:
    """Two small bins side by side would make k rows under one name: it is no bin of the policy, and is not released."""
    ages = [*range(20, 30)] * 6 + [42] * 6 + [47] * 6
    table = pa.table({"age": ages, "city": ["u", "v"] * 36, "y": ["n" if age < 25 else "j" for age in ages]})
    ladder = Policy.from_dict({"columns": {"age": {"role": "quasi_identifier", "ladder": [5]}}})
    release = anonkit.release(
        table, policy=ladder, k=10, target="y", trees=5, max_suppression=0.2, insensitive=["city"]
    )

    assert set(release.to_arrow().column("age").to_pylist()) == {"[20, 25)", "[25, 30)"}
    assert release.report["rows"]["suppressed"] == 12


@pytest.mark.parametrize("search_rows", [None, 50])
def test_the_next_batch_is_held_to_the_policy_whether_it_is_large_or_small(
    search_rows: int | None, tmp_path: Any
) -> None:
    """The earlier policy refuses a batch that fits into memory, and one that exceeds the limit of rows there."""
    ages = [20 + at % 40 for at in range(200)]
    table = pa.table({"age": ages, "y": ["n" if age < 40 else "j" for age in ages]})
    strict = Policy.from_dict({"columns": {"age": {"role": "quasi_identifier", "missing": "error"}}})
    anonkit.release(table, policy=strict, k=5, target="y", trees=5, output=tmp_path / "a.parquet", ledger=None)
    holed = pa.table({"age": [None, *ages[1:]], "y": table.column("y")})
    with pytest.raises(PolicyError, match="column 'age' has 1 missing values"):
        anonkit.apply(tmp_path / "a.params.json", holed, search_rows=search_rows, max_suppression=0.5, ledger=None)
