"""Public domains: declared, or read from the table on the owner's word.

Columns of booleans under noise: false and true are their public domain, and they come back as booleans.

Floats that are declared to hold integers: refused where the type does not distinguish them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks.forgeries import Files, forged, verdict

import anonkit
from anonkit.domains.number_bins import NumberBins
from anonkit.errors import GuaranteeError, PolicyError
from anonkit.policy.answer_design import AnswerDesign
from anonkit.policy.column_declarations import Column, ColumnType, Missing, Outside, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import (
    CategoricalAttribute,
    numeric_target,
    public_attribute,
    public_domains,
    refuse_rounded,
)
from anonkit.policy.target_task import Task


def policy(**column: Any) -> Policy:
    """A policy of one column."""
    return Policy.from_dict({"columns": {"a": column}})


@pytest.mark.parametrize(
    ("kind", "declared", "message"),
    [
        (pa.float64(), {"role": "unit"}, "do not tell all people apart"),
        (pa.float32(), {"categories": ["1", "16777216"]}, "declared whole numbers"),
        (pa.float64(), {"categories": ["9007199254740992"]}, "declared whole numbers"),
        (pa.float32(), {"bounds": [0, 20_000_000], "type": "integer"}, "declared whole numbers"),
    ],
)
def test_floats_that_merge_integers_are_refused(kind: pa.DataType, declared: dict[str, Any], message: str) -> None:
    """By the type of the column and by what is declared alone."""
    with pytest.raises(GuaranteeError, match=message):
        refuse_rounded(pa.schema([("a", kind)]), policy(**declared))


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        (pa.float32(), {"categories": ["1", "16777215"]}),
        (pa.int64(), {"role": "unit"}),
        (pa.float32(), {"bounds": [0, 20_000_000]}),
        (pa.float32(), {"categories": ["16777216.5", "x"]}),
    ],
)
def test_other_columns_are_taken(kind: pa.DataType, declared: dict[str, Any]) -> None:
    """Integers that the type represents, integers of any size, and numbers that are no integers."""
    refuse_rounded(pa.schema([("a", kind)]), policy(**declared))


ROWS = 240
METHODS: Mapping[str, Mapping[str, Any]] = {
    "rr": {"epsilon": 2.0},
    "errph": {"epsilon": 2.0},
    "ppnb": {"p_keep": 0.5},
    "dp-nb": {"epsilon": 1.0},
    "dp-forest": {"epsilon": 1.0},
    "dp-marginals": {"epsilon": 1.0},
    "dp-tree": {"epsilon": 1.0},
    "edprf": {"epsilon": 1.0},
    "diffprf": {"epsilon": 1.0},
    "diffprfs": {"epsilon": 1.0},
    "c45-halving": {"epsilon": 1.0},
    "diffgen": {"epsilon": 1.0},
    "diffp-id3": {"epsilon": 1.0},
    "sulq-id3": {"epsilon": 1.0},
}
TYPED = "That all values of flag are false or true is public knowledge: the types of the source say so."


def _cells(n_rows: int = ROWS) -> tuple[list[bool | None], list[str], list[str]]:
    generator = np.random.default_rng(0)
    flags = [None if u < 0.1 else bool(u < 0.5) for u in generator.random(n_rows)]
    letters = [str(letter) for letter in generator.choice(list("ab"), n_rows)]
    classes = [
        "p" if (flag, letter) in ((True, "a"), (False, "b")) else "q"
        for flag, letter in zip(flags, letters, strict=True)
    ]
    return flags, letters, classes


def _policy(**flag: Any) -> anonkit.Policy:
    columns = {
        "flag": {"role": "quasi_identifier", **flag},
        "c": {"categories": ["a", "b"]},
        "y": {"role": "target", "categories": ["p", "q"]},
    }
    return anonkit.Policy.from_dict({"columns": columns})


def arrow(folder: Path) -> Any:
    """A table of Arrow."""
    flags, letters, classes = _cells()
    return pa.table({"flag": pa.array(flags, pa.bool_()), "c": letters, "y": classes})


def nullable(folder: Path) -> Any:
    """A data frame whose type holds missing cells."""
    flags, letters, classes = _cells()
    return pd.DataFrame({"flag": pd.array(flags, dtype="boolean"), "c": letters, "y": classes})


def parquet(folder: Path) -> Any:
    """A Parquet file."""
    pq.write_table(arrow(folder), folder / "t.parquet")
    return folder / "t.parquet"


def duck(folder: Path) -> Any:
    """A database with types."""
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as base:
        base.register("rows", arrow(folder))
        base.sql("CREATE TABLE t AS SELECT * FROM rows")
    return f"duckdb:///{path}?table=t"


def csv(folder: Path) -> Any:
    """A text file, in several spellings."""
    rows = zip(*_cells(), strict=True)
    spelled = {None: "", True: "True", False: "false"}
    (folder / "t.csv").write_text("flag,c,y\n" + "".join(f"{spelled[flag]},{c},{y}\n" for flag, c, y in rows))
    return folder / "t.csv"


def json_lines(folder: Path) -> Any:
    """JSON Lines."""
    rows = zip(*_cells(), strict=True)
    (folder / "t.jsonl").write_text("".join(json.dumps({"flag": f, "c": c, "y": y}) + "\n" for f, c, y in rows))
    return folder / "t.jsonl"


def excel(folder: Path) -> Any:
    """A workbook."""
    book = openpyxl.Workbook()
    for row in (("flag", "c", "y"), *zip(*_cells(), strict=True)):
        book.active.append(row)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def sqlite(folder: Path) -> Any:
    """A database whose types say nothing."""
    with closing(sqlite3.connect(folder / "t.db")) as base:
        base.execute("CREATE TABLE t (flag TEXT, c TEXT, y TEXT)")
        rows = [(None if f is None else str(f).lower(), c, y) for f, c, y in zip(*_cells(), strict=True)]
        base.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        base.commit()
    return f"sqlite:///{folder / 't.db'}?table=t"


def objects(folder: Path) -> Any:
    """A data frame of Python's own objects."""
    flags, letters, classes = _cells()
    return pd.DataFrame({"flag": pd.Series(flags, dtype=object), "c": letters, "y": classes})


BY_TYPE: Mapping[str, Callable[[Path], Any]] = {
    "Arrow": arrow,
    "pandas boolean": nullable,
    "Parquet": parquet,
    "DuckDB": duck,
}
BY_POLICY: Mapping[str, Callable[[Path], Any]] = {
    **BY_TYPE,
    "CSV": csv,
    "JSON Lines": json_lines,
    "Excel": excel,
    "SQLite": sqlite,
    "pandas": objects,
}


def _release(source: Any, method: str, policy: anonkit.Policy, **more: Any) -> anonkit.Release:
    return anonkit.release(source, method=method, policy=policy, ledger=None, **METHODS[method], **more)


def _shares(release: anonkit.Release) -> dict[Any, float]:
    cells = release.to_arrow().column("flag").to_pylist()
    return {value: cells.count(value) / len(cells) for value in (False, True, None)}


@pytest.mark.quick_cases("rr", "dp-nb")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_noise_knows_the_domain_of_booleans(method: str, tmp_path: Path) -> None:
    """By the policy and by a public type: no category is declared, cells are booleans, and the files validate."""
    for name, (source, policy) in {
        "policy": (csv(tmp_path), _policy(type="boolean")),
        "type": (arrow(tmp_path), _policy()),
    }.items():
        release = _release(source, method, policy)
        release.save(tmp_path / f"{name}.parquet")
        assert release.to_arrow().schema.field("flag").type == pa.bool_()
        assert anonkit.validate(tmp_path / f"{name}.parquet").passed
        assumptions = release.report["guarantee"]["assumptions"]
        assert (TYPED in assumptions) is (name == "type")
        assert not any(str(one).startswith("CONDITIONAL") for one in assumptions)


@pytest.mark.quick_cases("CSV", "JSON Lines", "pandas")
@pytest.mark.parametrize("source", BY_POLICY)
def test_every_source_gives_the_same_rows(source: str, tmp_path: Path) -> None:
    """A seeded release is the same from every source, of cells that are spelled in any way."""
    made = _release(BY_POLICY[source](tmp_path), "dp-nb", _policy(type="boolean"), seed=3)
    plain = _release(arrow(tmp_path), "dp-nb", _policy(type="boolean"), seed=3)
    assert _shares(made) == _shares(plain)
    assert 0.2 < _shares(made)[True] < 0.6


@pytest.mark.quick_cases("Parquet", "pandas boolean")
@pytest.mark.parametrize("source", BY_TYPE)
def test_a_public_type_says_it(source: str, tmp_path: Path) -> None:
    """A typed source needs no word of the policy but the role of the column."""
    made = _release(BY_TYPE[source](tmp_path), "rr", _policy())
    assert made.to_arrow().schema.field("flag").type == pa.bool_()


@pytest.mark.quick_cases("JSON Lines", "pandas")
@pytest.mark.parametrize("source", ["CSV", "JSON Lines", "Excel", "SQLite", "pandas"])
def test_cells_never_say_it(source: str, tmp_path: Path) -> None:
    """A column of which nothing is declared is refused where no type is public, whatever its cells are."""
    with pytest.raises(PolicyError, match="'flag' has no public domain"):
        _release(BY_POLICY[source](tmp_path), "rr", _policy())


def test_one_odd_cell_changes_no_other_row(tmp_path: Path) -> None:
    """A cell that is no boolean is missing, alone."""
    flags, letters, classes = _cells()
    frame = pd.DataFrame({"flag": pd.Series(flags, dtype=object), "c": letters, "y": classes})
    odd = frame.copy()
    odd.loc[5, "flag"] = "perhaps"
    plain = frame.copy()
    plain.loc[5, "flag"] = None
    made = [_release(table, "dp-nb", _policy(type="boolean"), seed=1) for table in (odd, plain)]
    assert made[0].params == made[1].params


def test_a_target_may_be_one(tmp_path: Path) -> None:
    """Its classes are false and true, and a receiver's model predicts for rows with booleans."""
    flags, letters, _ = _cells(600)
    known = [bool(flag) for flag in flags]
    table = pa.table({"y": pa.array(known), "c": letters, "d": ["p" if k else "q" for k in known]})
    policy = anonkit.Policy.from_dict(
        {"columns": {"y": {"role": "target"}, "c": {"categories": ["a", "b"]}, "d": {"categories": ["p", "q"]}}}
    )
    made = _release(table, "dp-nb", policy)
    made.save(tmp_path / "out.parquet")
    assert made.to_arrow().schema.field("y").type == pa.bool_()
    result = anonkit.reconstruct(tmp_path / "out.parquet", test=table)
    assert result.scores is not None
    assert result.scores.accuracy > 0.9


@pytest.mark.parametrize("method", ["rr", "dp-nb"])
def test_forged_truth_values_are_refused(method: str, tmp_path: Path) -> None:
    """A file of booleans whose params call them categories, and of texts whose params call them booleans."""
    release = _release(arrow(tmp_path), method, _policy())
    release.save(tmp_path / "out.parquet")
    files = Files.read(tmp_path / "out.parquet")

    def as_texts(one: Files) -> None:
        at = one.table.schema.get_field_index("flag")
        one.table = one.table.set_column(at, "flag", one.table.column("flag").cast(pa.string()))

    def domains(one: Files) -> Iterator[dict[str, Any]]:
        for key in ("columns", "attributes"):
            yield from (each["domain"] for each in one.params.get(key, ()) if each["name"] == "flag")

    def not_said(one: Files) -> None:
        assert [domain.pop("truth_values") for domain in domains(one)]

    def turned(one: Files) -> None:
        for domain in domains(one):
            domain["categories"].reverse()

    for number, edit in enumerate((as_texts, not_said, turned)):
        folder = tmp_path / str(number)
        folder.mkdir()
        code, failed = verdict(forged(files, edit, folder))
        assert code in (1, 3), (edit.__name__, failed)


@pytest.mark.parametrize("method", ["errph", "dp-nb", "dp-forest", "dp-marginals"])
def test_a_missing_truth_value_counts_as_false_where_the_policy_says_so(method: str) -> None:
    """Its domain is as public as declared categories are: no released cell is missing."""
    policy = _policy(type="boolean", missing="first")
    release = anonkit.release(arrow(Path()), method=method, policy=policy, ledger=None, **METHODS[method])
    flags = release.to_arrow().column("flag")
    assert flags.type == pa.bool_()
    assert flags.null_count == 0


def test_without_noise_a_missing_truth_value_counts_as_false_by_declared_categories_alone() -> None:
    """A column of booleans has no domain there, and no cell is silently left missing."""
    table = pa.table({"flag": pa.array([True, None, False] * 10), "y": ["p", "q", "q"] * 10})
    columns = {"flag": {"type": "boolean", "missing": "first"}, "y": {"role": "target"}}
    with pytest.raises(PolicyError, match=r"\"flag\"|'flag'") as refused:
        anonkit.release(table, method="mondrian", k=2, policy={"columns": columns}, ledger=None)
    assert "categories" in str(refused.value)


TABLE = pa.table(
    {
        "age": [20, 30, 40, 50] * 25,
        "sex": ["F", "M", None, "M"] * 25,
        "note": ["x", "y"] * 50,
        "income": ["low", "high"] * 50,
    }
)


def test_domains_of_the_table_are_read_where_none_are_declared() -> None:
    """Smallest and largest number, the categories that occur, missing where it occurs; declared ones stay."""
    policy = Policy(columns={"sex": Column(name="sex", categories=("F", "M", "X"), missing=Missing.CATEGORY)})
    release = anonkit.release(
        TABLE, method="errph", epsilon=2.0, bins=4, target="income", insensitive=["note"], policy=policy,
        domains_from_data=True,
    )  # fmt: skip
    domains = {one["name"]: one["domain"] for one in release.params["attributes"]}

    assert domains["age"]["bounds"] == [20.0, 50.0]
    assert domains["sex"] == {"categories": ["F", "M", "X"], "has_missing": True}
    assert release.params["target"]["domain"]["categories"] == ["high", "low"]
    assert "age, income" in release.params["conditions"][0]
    assert "sex" not in release.params["conditions"][0]


def test_dropping_rows_with_a_missing_value_is_refused() -> None:
    """The number of rows is public: it must not depend on who had a missing value."""
    columns = {"sex": Column(name="sex", categories=("F", "M"), missing=Missing.DROP)}
    with pytest.raises(PolicyError, match="dropping rows tells"):
        anonkit.release(TABLE.select(["sex"]), method="errph", epsilon=2.0, policy=Policy(columns=columns))


def test_a_number_under_a_category_domain_is_its_text() -> None:
    """Categories are texts; integers of the table represent their digits."""
    columns = {"age": Column(name="age", categories=("20", "30", "40", "50"))}
    release = anonkit.release(TABLE.select(["age"]), method="errph", epsilon=20.0, policy=Policy(columns=columns))
    assert set(release.to_arrow().column("age").to_pylist()) <= {"20", "30", "40", "50"}


def test_texts_under_bounds_are_missing() -> None:
    """The owner learns how many; the release is made all the same."""
    columns = {"sex": Column(name="sex", bounds=(0, 1))}
    release = anonkit.release(
        TABLE.select(["sex"]), method="errph", epsilon=20.0, bins=4, policy=Policy(columns=columns)
    )
    assert release.to_arrow().column("sex").null_count > 90
    assert release.owner["cells_not_as_declared"] == {"sex": {"missing": 25, "outside": 75, "filled": 75}}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"missing": Missing.ERROR}, "a refusal tells that a value is missing"),
        ({"missing": Missing.DROP}, "dropping rows tells"),
        ({"outside": Outside.REFUSE}, "a refusal tells that a cell is outside"),
    ],
)
@pytest.mark.parametrize("method", ["errph", "dp-nb"])
def test_what_would_refuse_for_a_cell_is_refused_beforehand(declared: dict[str, Any], said: str, method: str) -> None:
    """Before any data is opened: there is no such file."""
    columns = {
        "sex": Column(name="sex", categories=("F", "M"), **declared),
        "income": Column(name="income", role=Role.TARGET, categories=("low", "high")),
    }
    with pytest.raises(PolicyError, match=said):
        anonkit.release("nowhere.csv", method=method, epsilon=1.0, policy=Policy(columns=columns))


def test_missing_is_a_value_whatever_the_table_holds() -> None:
    """Declared or not; `first` declares that it is none, and a design for the categories alone does."""

    def has_missing(**declared: Any) -> bool:
        attribute = public_attribute(Column(name="a", **declared))
        return attribute.domain.has_missing if isinstance(attribute, CategoricalAttribute) else attribute.has_missing

    assert has_missing(categories=("x", "y"))
    assert has_missing(bounds=(0, 1), missing=Missing.CATEGORY)
    assert not has_missing(bounds=(0, 1), missing=Missing.FIRST)
    for size, found in ((2, False), (3, True)):
        design = AnswerDesign(where="a", weights=(1.0,) * size)
        assert has_missing(categories=("x", "y"), answers=design) is found
    assert not has_missing(role=Role.TARGET, categories=("x", "y"))


def with_target(task: Task | None = None, **declared: Any) -> Policy:
    """A policy with one attribute and a target."""
    target = Column(name="y", role=Role.TARGET, **declared)
    return Policy(columns={"a": Column(name="a", categories=("0", "1")), "y": target}, task=task)


def test_the_classes_of_a_number_to_predict_are_equal_bins_of_its_bounds() -> None:
    """By its bounds or its task alone, as declared; missing is a class of its own where that is declared."""
    (classes,) = (public_domains(with_target(bounds=(0.0, 16.0))).classes.domain,)
    assert isinstance(classes, NumberBins)
    assert (classes.ends, classes.size) == (tuple(range(1, 9)), 8)
    counted = public_domains(with_target(Task.REGRESSION, bounds=(0.0, 16.0), missing=Missing.CATEGORY)).classes.domain
    assert counted.size == 9
    assert numeric_target(with_target(bounds=(0.0, 16.0))) == public_attribute(with_target(bounds=(0, 16)).columns["y"])
    assert numeric_target(with_target(categories=("0", "1"))) is None
    assert numeric_target(Policy(columns={"a": Column(name="a", categories=("0", "1"))})) is None


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (with_target(Task.REGRESSION), "number to predict and has no public bounds"),
        (with_target(type=ColumnType.NUMBER), "number to predict and has no public bounds"),
        (with_target(Task.CLASSIFICATION, bounds=(0.0, 1.0)), "classes need categories"),
        (
            with_target(bounds=(0.0, 1.0), answers=AnswerDesign(where="column 'y'", weights=(1.0, 2.0))),
            "is for categories",
        ),
        (with_target(categories=tuple(map(str, range(1001)))), "1,001 classes"),
        (with_target(), "no public domain"),
    ],
)
@pytest.mark.parametrize("method", ["dp-forest", "dp-nb", "edprf", "rr"])
def test_a_target_without_a_public_domain_of_its_task_is_refused_with_the_remedy(
    policy: Policy, said: str, method: str
) -> None:
    """Before any data is read, by every method; the hint names what to declare."""
    table = pa.table({"a": ["0", "1"] * 50, "y": [0.5] * 100})
    with pytest.raises(PolicyError, match=said) as refused:
        anonkit.release(table, method=method, epsilon=1.0, policy=policy, ledger=None)
    assert refused.value.hint


def test_columns_without_a_domain_are_named_together() -> None:
    """Five by name, the others counted, and the ways out: the owner learns of all of them at once."""
    names = [f"c{at}" for at in range(7)]
    policy = Policy(columns={name: Column(name=name) for name in names})
    with pytest.raises(PolicyError, match="7 columns have no public domain: 'c0', 'c1', 'c2', 'c3', 'c4' and 2 more"):
        public_domains(policy)
    one = Policy(columns={"a": Column(name="a"), "b": Column(name="b", categories=("x", "y"))})
    with pytest.raises(PolicyError, match="column 'a' has no public domain"):
        public_domains(one)
