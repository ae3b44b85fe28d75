"""Public rules that a noisy release states are kept by its rows; forged rows, rules and conditions are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.checks.central_params import Family, PublicColumn, PublicDomain, PublicFacts, facts_of
from anonkit.checks.row_rules import ClassRules, changed_at_most, masks_of, rules_of
from anonkit.domains.public_rules import PublicRules
from anonkit.errors import GuaranteeError, ReleaseFormatError
from anonkit.policy.declaration import Policy
from anonkit.published import released_codes
from anonkit.published.released_codes import cells_of_places

RULES = [
    {"determines": {"from": "city", "to": "floor", "map": [["Bonn", 1], ["Ulm", 4], ["Wien", 8]]}},
    {"determines": {"from": "city", "to": "land", "map": [["Bonn", "de"], ["Ulm", "de"], ["Wien", "at"]]}},
    {"never": {"land": "at", "job": ["a", "b"]}},
    {"never": {"age": [0, 17], "ill": "yes"}, "source": "data"},
    {"never": {"floor": [4, 8], "sex": "f"}},
]
POLICY = Policy.from_dict(
    {
        "columns": {
            "age": {"type": "integer", "bounds": [0, 79]},
            "wage": {"bounds": [0, 100]},
            "city": {"categories": ["Bonn", "Ulm", "Wien"]},
            "floor": {"type": "integer", "bounds": [0, 9]},
            "land": {"categories": ["at", "de"], "missing": "first"},
            "job": {"categories": ["a", "b", "c"]},
            "sex": {"categories": ["f", "m"], "missing": "first"},
            "ill": {"role": "target", "categories": ["no", "yes"]},
        },
        "constraints": RULES,
    }
)
KINDS: dict[str, dict[str, Any]] = {"dp-nb": {}, "dp-marginals": {}, "dp-forest": {"depth": 2}}


def people(n: int = 1_200) -> pa.Table:
    """People who keep some of the rules as a rule."""
    rng = np.random.default_rng(6)
    city = rng.choice(["Bonn", "Ulm", "Wien"], n)
    return pa.table(
        {
            "age": rng.integers(0, 80, n),
            "wage": 100 * rng.random(n),
            "city": city,
            "floor": [{"Bonn": 1, "Ulm": 4, "Wien": 8}[one] for one in city],
            "land": [{"Bonn": "de", "Ulm": "de", "Wien": "at"}[one] for one in city],
            "job": rng.choice(["a", "b", "c"], n),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One true release of each kind."""
    found = {}
    for kind, parameters in KINDS.items():
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        anonkit.release(people(), method=kind, policy=POLICY, epsilon=2.0, output=output, ledger=None, **parameters)
        found[kind] = Files.read(output)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_keeps_every_rule(releases: dict[str, Files], kind: str, tmp_path: Path) -> None:
    """Counted here by hand; the release validates, and says that it is conditional on the rule from the table."""
    rows = releases[kind].table.to_pandas()
    assert len(rows) > 500
    known = rows[rows["city"].notna()]
    assert (known["city"].map({"Bonn": 1, "Ulm": 4, "Wien": 8}) == known["floor"]).all()
    assert (known["city"].map({"Bonn": "de", "Ulm": "de", "Wien": "at"}) == known["land"]).all()
    assert not ((rows["land"] == "at") & rows["job"].isin(["a", "b"])).any()
    assert not ((rows["age"] <= 17) & (rows["ill"] == "yes")).any()
    assert not ((rows["floor"] >= 4) & (rows["sex"] == "f")).any()
    assert pa.types.is_int64(releases[kind].table.schema.field("floor").type)
    assert not [line for line in releases[kind].params["accounting"] if "floor" in line["purpose"]]
    assert [text[:40] for text in releases[kind].params["conditions"]] == ['CONDITIONAL: the rule "never age 0 to 17']
    assert verdict(forged(releases[kind], lambda files: None, tmp_path)) == (0, ())


def cells(name: str, chosen: Callable[[pa.Table], Any], value: Any, most: int = 1) -> Edit:
    """Change some cells of a column in rows that are chosen."""

    def edit(files: Files) -> None:
        rows = np.flatnonzero(np.asarray(pc.fill_null(chosen(files.table), False)))[:most]
        column, at = files.table.column(name).combine_chunks(), files.table.schema.get_field_index(name)
        kind = files.table.schema.field(name).type
        texts = column.cast(pa.string()) if pa.types.is_dictionary(kind) else column
        listed = texts.to_pylist()
        assert rows.size
        for row in rows.tolist():
            listed[row] = value
        values = pa.array(listed, texts.type)
        if pa.types.is_dictionary(kind):
            known = [*column.dictionary.to_pylist()]
            values = pa.DictionaryArray.from_arrays(
                pa.array([None if one is None else known.index(one) for one in listed], pa.int32()), column.dictionary
            )
        files.table = files.table.set_column(at, files.table.schema.field(at), values)

    return edit


def is_city(city: str) -> Callable[[pa.Table], Any]:
    """Return what chooses the rows of a city."""
    return lambda table: pc.equal(table.column("city").cast(pa.string()), city)


def rule(at: int, **keys: Any) -> Edit:
    """Change a rule in the params."""

    def edit(files: Files) -> None:
        kind = "determines" if "determines" in files.params["constraints"][at] else "never"
        files.params["constraints"][at][kind].update(keys)

    return edit


def params(change: Callable[[dict[str, Any]], Any]) -> Edit:
    """Change the params."""
    return lambda files: change(files.params)


FORGERIES: dict[str, tuple[Edit, str]] = {
    "a cell that does not follow": (cells("floor", is_city("Ulm"), 1), "public_rules"),
    "a missing cell that does not follow": (cells("floor", is_city("Ulm"), None), "public_rules"),
    "a name that does not follow": (cells("land", is_city("Ulm"), "at"), "public_rules"),
    "values that never meet": (cells("job", is_city("Wien"), "a"), "public_rules"),
    "a range that never meets": (cells("sex", is_city("Ulm"), "f"), "public_rules"),
    "another map": (rule(0, map=[["Bonn", 2], ["Ulm", 4], ["Wien", 8]]), "public_rules"),
    "a map to no number of the column": (rule(0, map=[["Bonn", 1.5], ["Ulm", 4], ["Wien", 8]]), "constraints"),
    "a map to no name of the column": (rule(1, map=[["Bonn", "fr"], ["Ulm", "de"], ["Wien", "at"]]), "constraints"),
    "a map with too little": (rule(1, map=[["Bonn", "de"], ["Ulm", "de"]]), "constraints"),
    "a map to missing": (rule(1, map=[["Bonn", None], ["Ulm", "de"], ["Wien", "at"]]), "constraints"),
    "another rule": (rule(2, job=["a", "b", "c"]), "public_rules"),
    "a rule on no column": (rule(2, nothing=["a"]), "constraints"),
    "names for numbers": (rule(3, age=["a"]), "constraints"),
    "numbers for names": (rule(2, job=[1, 2]), "constraints"),
    "a name of none": (rule(2, job=["z"]), "constraints"),
    "from a column of numbers": (rule(0, **{"from": "age"}), "constraints"),
    "from no column": (rule(0, **{"from": "land"}), "constraints"),
    "the condition is gone": (params(lambda own: own.update(conditions=[])), "constraints"),
    "found in no table": (params(lambda own: own["constraints"][3].update(source="policy")), "constraints"),
    "no rules": (params(lambda own: own.update(constraints=[])), "constraints|counted_domains"),
    "a rule less": (params(lambda own: own["constraints"].pop(0)), "counted_domains"),
    "fewer values of what follows": (
        lambda files: files.columns("floor").update(released_values=3),
        "released_values",
    ),
    "a coarser column that follows": (
        params(lambda own: next(c for c in own["columns"] if c["name"] == "floor")["domain"].update(cells=5)),
        "constraints",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_rules_are_refused(releases: dict[str, Files], name: str, tmp_path: Path) -> None:
    """By the named check, whatever else fails; on one method each in turn."""
    edit, check = FORGERIES[name]
    kind = [*KINDS][[*FORGERIES].index(name) % len(KINDS)]
    code, failed = verdict(forged(releases[kind], edit, tmp_path))
    assert code == 1, failed
    assert set(check.split("|")) & set(failed), failed


@pytest.mark.parametrize(
    "forged_rule",
    [
        {"never": {"age": [0, 17], "ill": ["yes"]}},
        {"never": {"age": [0, 17]}, "source": "policy"},
        {"never": {"age": [17, 0], "ill": ["yes"]}, "source": "policy"},
        {"never": {"age": [0, 17], "ill": ["yes", "yes"]}, "source": "policy"},
        {"never": {"age": [0, 17], "ill": "yes"}, "source": "policy"},
        {"never": {"age": [0, 17], "ill": ["yes"]}, "source": "nobody"},
        {"always": {}, "source": "policy"},
        {"determines": {"from": "a", "to": "a", "map": []}, "source": "policy"},
        {"determines": {"from": "a", "to": "b", "map": [["x", 1], ["x", 2]]}, "source": "policy"},
    ],
)
def test_rules_that_anonkit_does_not_write_are_damage(forged_rule: dict[str, Any]) -> None:
    """Two maps to one column, too."""
    with pytest.raises(ReleaseFormatError):
        rules_of({"constraints": [forged_rule]})
    one = {"determines": {"from": "a", "to": "b", "map": [["x", 1]]}, "source": "policy"}
    with pytest.raises(ReleaseFormatError):
        rules_of({"constraints": [one, one]})


def test_both_codes_read_one_rule_alike(releases: dict[str, Files]) -> None:
    """The codes that never meet, by the methods and by the checks."""
    params = releases["dp-nb"].params
    facts = facts_of(params)
    theirs = PublicRules.stated(params["constraints"])
    shown = {name: anonkit_domain(params, name) for name in ("age", "city", "land", "floor", "job", "sex", "ill")}
    counted = {one["name"]: anonkit_domain(params, one["name"], "attributes") for one in params["attributes"]}
    for own, mine in zip(theirs.masks(shown), masks_of(params, facts), strict=True):
        assert own.keys() == mine.keys()
        for name in own:
            cells = cells_of_places(counted.get(name, shown[name]), shown[name])
            assert np.bincount(cells, weights=own[name]) / np.bincount(cells) == pytest.approx(mine[name])
    assert changed_at_most([], np.ones(1), {}) == 0


def test_a_rule_forbids_cells_of_a_number_and_a_bin_only_where_none_is_left() -> None:
    """By what rows show: a bin of three cells of which rules forbid one or all; a missing number is never forbidden."""
    bins = PublicDomain(categories=None, bounds=(0, 8), cells=2, has_missing=True, fine=4, ends=(1, 4))
    target = PublicColumn(name="y", domain=bins)
    stated = {
        "constraints": [
            {"never": {"y": [3, 3], "sex": ["f"]}, "source": "policy"},
            {"never": {"y": [4, 8], "sex": ["f"], "age": [0, 9]}, "source": "policy"},
            {"never": {"sex": ["m"], "age": [0, 9]}, "source": "policy"},
        ]
    }
    shape = PublicFacts(family=Family.STACKED, parameters={}, target=target, attributes=())
    rules = ClassRules.of(stated, shape)
    assert rules.columns == ["age", "sex"]
    rows = pa.record_batch({"sex": ["m", "f", "f", None], "age": [5, 10, 9.0, 5]})
    assert rules.forbidden(rows).astype(int).tolist() == [[0] * 5, [0, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0] * 5]
    assert rules.forbidden_classes(rows).astype(int).tolist() == [[0] * 3, [0] * 3, [0, 1, 0], [0] * 3]


def anonkit_domain(params: dict[str, Any], name: str, among: str = "columns") -> Any:
    """Return a domain as the methods read it."""
    from anonkit.domains.number_bins import Categories, Grid

    raw = next(column for column in params[among] if column["name"] == name)["domain"]
    return Grid.from_params(raw) if "bounds" in raw else Categories.from_params(raw)


@pytest.mark.parametrize("kind", KINDS)
def test_code_that_keeps_no_rule_releases_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that changes no row: the release is refused by the count of its rows."""
    monkeypatch.setattr(released_codes.CodeRules, "repaired", lambda self, codes, classes, words: dict(codes))
    with pytest.raises(GuaranteeError, match="public_rules"):
        anonkit.release(people(), method=kind, policy=POLICY, epsilon=2.0, ledger=None)


def test_rules_hold_where_nothing_is_predicted() -> None:
    """Rows of no class change values with any other row; the rows are compared with the mixture of all."""
    rules = PublicRules(follows=POLICY.constraints.follows, never=POLICY.constraints.never[:1])
    columns = {name: column for name, column in POLICY.columns.items() if name != "ill"}
    policy = Policy(columns=columns, without_target=True, constraints=rules)
    release = anonkit.release(
        people().drop_columns("ill"),
        method="dp-marginals", policy=policy, epsilon=2.0, seed=1, ledger=None,
    )  # fmt: skip
    rows = release.to_pandas()
    assert not ((rows["land"] == "at") & rows["job"].isin(["a", "b"])).any()
    assert {check["name"] for check in release.report["verification"]["checks"]} >= {"public_rules", "constraints"}
