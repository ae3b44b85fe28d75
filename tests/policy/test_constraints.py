"""`[[constraints]]` of a policy: how rules are written, what is refused, and what a release makes of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.consumers import MarginalModel
from anonkit.domains.public_rules import Follows, Never
from anonkit.errors import AnonkitError, ParameterError, PolicyError
from anonkit.policy.declaration import Policy

COLUMNS: dict[str, Any] = {
    "city": {"categories": ["Bonn", "Ulm"], "missing": "first", "tree": [["Bonn", "west"], ["Ulm", "south"]]},
    "land": {"categories": ["west", "south"], "missing": "first"},
    "floor": {"type": "integer", "bounds": [0, 9], "missing": "first"},
    "wage": {"bounds": [0, 10], "missing": "first"},
    "sex": {"categories": ["f", "m"], "missing": "first"},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
del COLUMNS["city"]["categories"]
MAP = [["Bonn", 1], ["Ulm", 4]]


def policy(*rules: dict[str, Any], folder: Path | None = None) -> Policy:
    """A policy with these rules."""
    return Policy.from_dict({"columns": COLUMNS, "constraints": list(rules)}, folder=folder)


def people(n: int = 400) -> pa.Table:
    """People of whom some break rules."""
    rng = np.random.default_rng(2)
    city = rng.choice(["Bonn", "Ulm"], n)
    land = np.where(city == "Bonn", "west", "south")
    land[:5] = "west"
    return pa.table(
        {
            "city": city, "land": land, "floor": rng.choice([1, 4], n), "wage": 10 * rng.random(n),
            "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["no", "yes"], n),
        }
    )  # fmt: skip


def determines(of: str, to: str, **more: Any) -> dict[str, Any]:
    """A rule by which one column was not counted."""
    return {"determines": {"from": of, "to": to, **more}}


def test_a_map_is_a_file_a_list_or_a_level_of_a_tree(tmp_path: Path) -> None:
    """A file names both columns in its first line, in any order; numbers are read as such."""
    (tmp_path / "floors.csv").write_text("floor;city\n1;Bonn\n4;Ulm\n")
    written = policy(determines("city", "floor", map="floors.csv"), folder=tmp_path)
    listed = policy(determines("city", "floor", map=MAP))
    assert written.constraints == listed.constraints
    assert policy(determines("city", "land", level=1)).constraints.follows == (
        Follows(name="land", of="city", pairs=(("Bonn", "west"), ("Ulm", "south"))),
    )
    (rule,) = policy({"never": {"city": "Bonn", "floor": 3, "wage": [1, 2]}}).constraints.never
    assert rule == Never(values={"city": ("Bonn",), "floor": (3, 3), "wage": (1, 2)})


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"never": {"city": "Bonn"}}, "two columns"),
        ({"never": {"city": "Bonn", "land": "west"}, "source": "me"}, "source"),
        ({"never": {"city": "Bonn", "land": "west"}, "determines": {}}, "one of determines and never"),
        ({}, "one of determines and never"),
        ({"always": {}}, "unknown key"),
        (determines("city", "land"), "needs from, to"),
        (determines("city", "land", map=MAP, level=1), "needs from, to"),
        (determines("city", "land", level=2), "level of the tree"),
        (determines("land", "city", level=1), "level of the tree"),
        (determines("city", "floor", map="floors.csv"), "floors.csv"),
        (determines("city", "floor", map=[["Bonn"]]), "list of pairs"),
        (determines("city", "floor", map=[["Bonn", "one"]]), "no number"),
        (determines("city", "city", map=MAP), "another one"),
        (determines("city", "floor", map=[*MAP, ["Ulm", 3]]), "once"),
    ],
)
def test_rules_that_say_nothing_are_refused_in_one_line(rule: dict[str, Any], problem: str, tmp_path: Path) -> None:
    """When the policy is read."""
    with pytest.raises(PolicyError, match=problem):
        policy(rule, folder=tmp_path)


def test_files_of_other_columns_are_refused(tmp_path: Path) -> None:
    """By the first line, and a line with other than two cells."""
    (tmp_path / "floors.csv").write_text("floor,town\n1,Bonn\n")
    with pytest.raises(PolicyError, match="must name both columns"):
        policy(determines("city", "floor", map="floors.csv"), folder=tmp_path)
    (tmp_path / "floors.csv").write_text("floor,city\n1,Bonn\n4,Ulm,x\n")
    with pytest.raises(PolicyError, match=r"line 3|two cells"):
        policy(determines("city", "floor", map="floors.csv"), folder=tmp_path)
    with pytest.raises(PolicyError, match="follows from one other column"):
        policy(determines("city", "land", level=1), determines("sex", "land", map=[["f", "west"]]))


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ([{"never": {"city": "Bonn", "town": "x"}}], "not in the table"),
        ([{"never": {"city": "Rom", "land": "west"}}], "not in its domain"),
        ([{"never": {"city": [1, 2], "land": "west"}}], "names of categories"),
        ([{"never": {"wage": "x", "land": "west"}}], "range of numbers"),
        ([determines("city", "ill", map=[["Bonn", "no"], ["Ulm", "yes"]])], "target"),
        ([determines("floor", "city", map=[["1", "Bonn"]])], "must have categories"),
        ([determines("city", "wage", map=MAP)], "integers or a step"),
        ([determines("city", "floor", map=MAP[:1])], "each value"),
        ([determines("city", "floor", map=[["Bonn", 1.5], ["Ulm", 4]])], "not in its domain"),
        ([{"never": {"city": ["Bonn", "Ulm"], "ill": "no"}}], "no row possible"),
    ],
)
@pytest.mark.parametrize("method", ["dp-nb", "dp-marginals", "dp-forest"])
def test_rules_that_no_row_can_keep_are_refused_before_anything_is_drawn(
    rules: list[dict[str, Any]], problem: str, method: str
) -> None:
    """By public facts alone: nothing is charged."""
    if problem == "no row possible" and method == "dp-forest":
        rules = [*rules, {"never": {"city": ["Bonn", "Ulm"], "ill": "yes"}}]
    with pytest.raises(PolicyError, match=problem):
        anonkit.release(people(), method=method, policy=policy(*rules), epsilon=1.0, ledger=None)


def test_source_rows_that_break_rules_are_counted_for_the_owner_alone() -> None:
    """They are used as they are; only the owner's measures count them."""
    rules = policy(determines("city", "land", level=1), {"never": {"sex": "f", "wage": [0, 1]}})
    table = people()
    release = anonkit.release(table, method="dp-nb", policy=rules, epsilon=1.0, seed=1, ledger=None)
    frame = table.to_pandas()
    follows = (frame["land"] != frame["city"].map({"Bonn": "west", "Ulm": "south"})).sum()
    never = ((frame["sex"] == "f") & (frame["wage"] <= 1)).sum()
    assert follows > 0
    assert release.owner["rows_breaking_rules"] == {
        "city determines land": follows, "never sex f with wage 0 to 1": never,
    }  # fmt: skip
    assert release.report["notes"][0] == "Every row keeps the public rule: city determines land."
    assert "rows_breaking_rules" not in str(release.report)
    kept = table.filter(pa.array(frame["land"] == frame["city"].map({"Bonn": "west", "Ulm": "south"})))
    other = anonkit.release(
        kept, method="dp-nb", policy=policy(determines("city", "land", level=1)), epsilon=1.0, seed=1, ledger=None
    )
    assert "rows_breaking_rules" not in other.owner


def test_what_is_known_costs_nothing() -> None:
    """A column that follows is in no line of the account: the others share all of epsilon."""
    rules = policy(determines("city", "land", level=1), determines("city", "floor", map=MAP))
    for method in ("dp-nb", "dp-marginals", "dp-forest"):
        ruled = anonkit.release(people(), method=method, policy=rules, epsilon=1.0, seed=1, ledger=None)
        less = {name: own for name, own in COLUMNS.items() if name not in ("land", "floor")}
        alone = anonkit.release(
            people().drop_columns(["land", "floor"]),
            method=method, policy={"columns": less}, epsilon=1.0, seed=1, ledger=None,
        )  # fmt: skip
        assert ruled.params["accounting"] == alone.params["accounting"]
        shown = ruled.to_arrow()
        assert shown.drop_columns(["land", "floor"]) == alone.to_arrow()
        assert shown.schema.names == people().schema.names


@pytest.mark.parametrize("method", ["rr", "edprf", "dp-tables"])
def test_methods_that_draw_no_rows_by_the_rules_say_so(method: str) -> None:
    """The columns are released as without rules, and nothing is claimed of them."""
    rules = policy({**determines("city", "land", level=1), "source": "data"})
    release = anonkit.release(people(), method=method, policy=rules, epsilon=1.0, seed=1, ledger=None)
    assert any(note.startswith("Rows may break the [[constraints]]") for note in release.report["notes"])
    assert "constraints" not in release.params
    assert not any("CONDITIONAL" in text for text in release.report["guarantee"]["assumptions"])


@pytest.mark.slow
def test_true_rows_are_as_they_are() -> None:
    """A k-anonymous release has nothing to do with rules."""
    release = anonkit.release(people(), method="mondrian", k=5, policy=policy(determines("city", "land", level=1)))
    assert not any("[[constraints]]" in note for note in release.report["notes"])


def test_receivers_draw_rows_by_the_same_rules(tmp_path: Path) -> None:
    """Under conditions too; contradictions to the rules are refused, and implied values follow from another column."""
    rules = policy(determines("city", "floor", map=MAP), {"never": {"floor": 1, "sex": "f"}})
    path = tmp_path / "out.parquet"
    anonkit.release(people(), method="dp-marginals", policy=rules, epsilon=4.0, output=path, ledger=None)
    model = MarginalModel.from_release(path)
    for drawn in (model.draw(900, seed=1), model.given({"sex": "f"}).draw(300, seed=2)):
        frame = drawn.to_pandas()
        assert (frame["floor"] == frame["city"].map({"Bonn": 1, "Ulm": 4})).all()
        assert not ((frame["floor"] == 1) & (frame["sex"] == "f")).any()
        assert list(frame.columns) == people().schema.names
    assert MarginalModel(model.to_params()).draw(900, seed=1) == model.draw(900, seed=1)
    with pytest.raises(ParameterError, match="was not counted"):
        model.marginal("floor")
    with pytest.raises(ParameterError, match="was not counted"):
        model.given({"floor": 1})
    with pytest.raises(AnonkitError, match="no row possible"):
        model.given({"sex": "f", "city": "Bonn"}).draw(10, seed=1)


def test_the_rules_of_the_page_are_read() -> None:
    """The example of the reference."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "policy.md").read_text()
    (block,) = re.findall(r"```toml\n(\[\[constraints\]\]\n.*?)```", page, re.DOTALL)
    columns = {"education": {"categories": ["Bachelors", "Masters"]}, "education-num": {"type": "integer"}}
    read = Policy.from_dict({**tomllib.loads(block), "columns": columns})
    assert read.constraints.words == (
        "education determines education-num", "never relationship Husband with sex Female",
    )  # fmt: skip
