"""Each line that the page on 0.2 names is given to a command that shows the symptom, which is gone then."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.ledger import NAME, Ledger
from anonkit.ledger.earlier_releases import POINTER
from anonkit.ledger.ledger_place import users_ledger
from anonkit.pipeline.changed_defaults import ROWS
from tests.ledger.claims import as_version_4
from tests.methods.test_boxes_of_large_k import corners
from tests.pipeline.test_changed_defaults import WITHOUT_RECIPE

N = 240
AT = np.arange(N)
PLAIN = {"age": 20 + AT % 40, "zip": 100 + AT % 5, "sex": np.where(AT % 2, "F", "M")}
INCOME = np.where(AT // 7 % 2, "high", "low")
CALM = 'utility = false\nparameters = { k = 5 }\nmethod = "mondrian"\n'
"""A quick release of classes."""
ROWS_ALONE = '[policy]\nunit = "none"\ntarget = false\n'


@dataclass
class Tried:
    """A release by a recipe that one test writes, in a folder of its own."""

    cli: Callable[..., Any]
    folder: Path
    columns: dict[str, Any] = field(default_factory=lambda: dict(PLAIN))
    head: str = CALM
    typed: tuple[str, ...] = ("--no-ledger",)

    def __call__(self, lines: str = "", **more: Any) -> Any:
        """Return what the command left behind, with `report`, `params` and `columns` where it released."""
        path = self.folder / "in.csv"
        pd.DataFrame({**self.columns, **more}).to_csv(path, index=False)
        return self.run(lines, path.name)

    def run(self, lines: str, table: str, *typed: str) -> Any:
        """The same of a table that is there."""
        recipe = self.folder / "recipe.toml"
        recipe.write_text(f'input = "{table}"\noutput = "out.parquet"\n{self.head}{lines}\n', encoding="utf-8")
        ran = self.cli("run", recipe, "--force", "--quiet", *self.typed, *typed)
        return Outcome(ran.code, ran.err, self.folder)


@dataclass(frozen=True)
class Outcome:
    """The result of a release."""

    code: int
    err: str
    folder: Path

    @property
    def report(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads((self.folder / "out.report.json").read_text(encoding="utf-8"))
        return found

    @property
    def params(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads((self.folder / "out.params.json").read_text(encoding="utf-8"))
        return found

    def column(self, name: str) -> dict[str, Any]:
        """The entry of a column in the report."""
        (found,) = [one for one in self.report["columns"] if one["name"] == name]
        return dict(found)

    def diversity(self, name: str) -> dict[str, Any]:
        """The lowest diversity of a sensitive column over all classes."""
        return dict(self.report["disclosure_risk"]["l_diversity"][name])

    def is_refused(self, code: int, words: str) -> bool:
        """Return whether a line that is the symptom was printed."""
        return self.code == code and words in self.err


CASES: dict[str, Callable[[Tried], None]] = {}


def of(seen: str) -> Callable[[Callable[[Tried], None]], Callable[[Tried], None]]:
    """Register the trial of a row of the page."""

    def registered(case: Callable[[Tried], None]) -> Callable[[Tried], None]:
        CASES[seen] = case
        return case

    return registered


@of("the release has no target; a note says that none was guessed")
def _no_target(tried: Tried) -> None:
    found = tried(wage=AT * 17 % 900)
    assert any("target" in note for note in found.report["notes"])
    assert found.column("wage")["role"] != "target"
    assert tried('[policy.columns]\nwage = { role = "target" }', wage=AT * 17 % 900).column("wage")["role"] == "target"


@of("exit code 2 of a method that needs a target")
def _needs_target(tried: Tried) -> None:
    tried.head = 'utility = false\nmethod = "greedy-hamdist"\nparameters = { k = 5, max_suppression = 1.0 }\n'
    tried.columns["wage"] = AT * 17 % 900
    assert tried('[policy]\nunit = "none"').is_refused(2, "target")
    assert tried('[policy]\nunit = "none"\n[policy.columns]\nwage = { role = "target" }').code == 0


@of("exit code 2: the guess is not the target of the last release")
def _other_guess(tried: Tried) -> None:
    tried.head, tried.typed = 'dataset = "people"\n' + CALM, ()
    assert tried(income=INCOME).column("income")["role"] == "target"
    other = {"income": INCOME, "class": np.where(AT // 11 % 2, "a", "b")}
    assert tried(**other).is_refused(2, "target")
    for line in ('[policy.columns]\nincome = { role = "target" }', "[policy]\ntarget = false"):
        assert not tried(line, **other).is_refused(2, "target")


@of("exit code 1: a column has the form of identifiers, or numbers the rows")
def _form_of_identifiers(tried: Tried) -> None:
    tried.columns["contact"] = [f"p{at}@example.org" for at in AT]
    line = f'{ROWS_ALONE}[policy.columns]\ncontact = {{ role = "insensitive"%s }}'
    assert tried(line % "").is_refused(1, "contact")
    assert tried(line % ", release_as_is = true").code == 0


@of("more columns are left out as identifiers")
def _left_out(tried: Tried) -> None:
    tried.columns["contact"] = [f"p{at // 8}@example.org" for at in AT]
    assert tried(ROWS_ALONE).column("contact")["role"] == "identifier"
    line = '[policy.columns]\ncontact = { role = "quasi_identifier" }'
    assert tried(ROWS_ALONE + line).column("contact")["role"] == "quasi_identifier"


@of("fewer columns are left out")
def _not_left_out(tried: Tried) -> None:
    tried.columns["flight_no"] = [f"LX{100 + at % 9}" for at in AT]
    assert tried(ROWS_ALONE).column("flight_no")["role"] == "quasi_identifier"
    line = '[policy.columns]\nflight_no = { role = "identifier" }'
    assert tried(ROWS_ALONE + line).column("flight_no")["role"] == "identifier"


@of("coarser groups; the report lists guarantee.parameters.candidates")
def _candidates(tried: Tried) -> None:
    tried.columns["patient_id"] = [f"P{at // 4:05d}" for at in AT]
    assert tried("[policy]\ntarget = false").report["guarantee"]["parameters"]["candidates"]
    assert not tried(ROWS_ALONE).report["guarantee"]["parameters"].get("candidates")


@of("exit code 2 that names candidates")
def _candidates_out_of_reach(tried: Tried) -> None:
    tried.columns["patient_id"] = [f"P{at // 80:05d}" for at in AT]
    line = '[policy.columns]\npatient_id = { role = "identifier" }'
    found = tried(f"[policy]\ntarget = false\n{line}")
    assert found.code in (1, 2)
    assert "patient_id" in found.err
    assert tried(ROWS_ALONE + line).code == 0


@of("a column is left out as a key by structure")
def _key_by_structure(tried: Tried) -> None:
    random = np.random.default_rng(1)
    person = AT // 6
    age, height = random.integers(20, 90, N), random.integers(150, 200, N)
    tried.columns = {
        "code": person * 7 % 41,
        "age": age[person],
        "height": height[person],
        "sex": np.where(random.random(N) < 0.5, "F", "M")[person],
        "visit": random.integers(0, 9, N),
    }
    assert tried("[policy]\ntarget = false").column("code")["role"] == "identifier"
    line = '[policy.columns]\ncode = { role = "quasi_identifier" }'
    assert tried(f"[policy]\ntarget = false\n{line}").column("code")["role"] == "quasi_identifier"


@of("coarser groups where a column is sensitive and has no other requirement")
def _cap(tried: Tried) -> None:
    tried.columns["illness"] = np.where(AT % 40 < 20, "flu", "none")
    line = ROWS_ALONE + '[policy.columns]\nillness = { role = "sensitive"%s }'
    caps = [
        "caps" in next(one for one in tried(line % more).params["columns"] if one["name"] == "illness")
        for more in ("", ", alpha = 1")
    ]
    assert caps == [True, False]


@of("l, t and α come out smaller")
def _marks(tried: Tried) -> None:
    tried.columns = {"sex": PLAIN["sex"], "illness": np.array(["flu", "none", "N/A", "cold"])[AT % 4]}
    line = ROWS_ALONE + '[policy.columns]\nillness = { role = "sensitive", alpha = 1.0%s }'
    few, many = (
        tried(line % more).diversity("illness")["l"] for more in ("", ', categories = ["flu", "none", "N/A", "cold"]')
    )
    assert few < many


@of("l of a measured number comes out smaller")
def _width(tried: Tried) -> None:
    tried.columns = {"age": PLAIN["age"], "wage": 1000.5 + AT % 40 * 6 + AT // 40}
    line = ROWS_ALONE + '[policy.columns]\nwage = { role = "sensitive", alpha = 1.0%s }'
    few, many = (tried(line % more).diversity("wage")["entropy_l"] for more in ("", ", tolerance = 0"))
    assert few < many


@of("exit code 2: the first line looks like a record")
def _record(tried: Tried) -> None:
    rows = [f"{20 + at % 40},{'FM'[at % 2]},{1950 + at % 50}-03-1{at % 10}\n" for at in range(N)]
    (tried.folder / "in.csv").write_text("".join(rows), encoding="utf-8")
    assert tried.run(ROWS_ALONE, "in.csv").is_refused(2, "looks like a record")
    for line in ("header = true\n", 'header = false\nnames = ["age", "sex", "born"]\n'):
        tried.head = CALM + line
        assert tried.run(ROWS_ALONE, "in.csv").code == 0


@of("exit code 1 of a float column under noise")
def _float(tried: Tried) -> None:
    tried.head = 'method = "dp-tables"\nparameters = { epsilon = 1.0, rows_per_unit = 4 }\nutility = false\n'
    line = (
        '[policy]\ntarget = false\n[policy.columns]\nperson = { role = "unit" }\n'
        'sex = { role = "quasi_identifier", categories = ["F", "M"] }'
    )
    sex = pa.array(PLAIN["sex"])
    for kind, code in ((pa.float64(), 1), (pa.int64(), 0), (pa.string(), 0)):
        person = pa.array((AT // 3).tolist(), pa.int64()).cast(kind)
        pq.write_table(pa.table({"person": person, "sex": sex}), tried.folder / "in.parquet")
        assert tried.run(line, "in.parquet").code == code


@of("exit code 1: more than 5 % of a column's cells outside its declared bounds, categories or form, under k-anonymity")
def _outside(tried: Tried) -> None:
    line = f"{ROWS_ALONE}[policy.columns]\nage = {{ bounds = [20, 30]%s }}"
    assert tried(line % "").is_refused(1, "age")
    for more in (", accept_outside = 1.0", ', outside = "clamp"', ', outside = "missing"'):
        assert tried(line % more).code == 0


@of("rfka, mondrian, greedy-hamdist choose other detail")
def _hidden_labels(tried: Tried) -> None:
    random = np.random.default_rng(2)
    tried.columns = {"age": random.integers(20, 80, 1_800), "income": np.where(random.random(1_800) < 0.5, "a", "b")}
    line = '[policy]\nunit = "none"\n[policy.columns]\nincome = { role = "target" }'
    tried.head = CALM.replace("utility = false\n", "")
    assert tried(line).report["utility"]["scored_rows"]
    tried.head = tried.head.replace("k = 5", "k = 5, all_labels = true")
    assert "scored_rows" not in tried(line).report["utility"]


@of("releases are booked in your own ledger, no longer beside the output")
def _ledger(tried: Tried) -> None:
    tried.typed = ()
    assert tried(ROWS_ALONE).code == 0
    assert Ledger(users_ledger()).datasets()
    assert not (tried.folder / NAME).exists()
    for at, line in enumerate(("", 'ledger = "mine.sqlite"\n')):
        other = Tried(tried.cli, tried.folder / str(at), typed=())
        other.folder.mkdir()
        place = other.folder / ("mine.sqlite" if line else NAME)
        assert tried.cli("ledger", "create", place).code == 0
        assert other(ROWS_ALONE.replace("[policy]\n", f"[policy]\n{line}")).code == 0
        assert Ledger(place).datasets()


@of('"looks like dataset …"')
def _looks_like(tried: Tried) -> None:
    tried.typed = ()
    tried.columns["patient_id"] = [f"P{at:05d}" for at in AT]
    lines = '[policy]\ntarget = false\n%s[policy.columns]\npatient_id = { role = "unit" }'
    assert tried("dataset = 'people'\n" + lines % "").code == 0
    (tried.folder / "out.parquet").unlink()
    again = Tried(tried.cli, tried.folder, {**tried.columns, "age": 21 + AT % 40}, typed=())
    refused = again(lines % "")
    assert refused.code == 1
    assert "looks like dataset" in refused.err
    assert "looks like dataset" not in again("dataset = 'people'\n" + lines % "").err
    assert again("dataset = 'others'\n" + lines % "remember_people = false\n").code == 0


@of("a 25th of ε goes to spikes of … in the account of dp-marginals, dp-forest, dp-tree and dp-nb")
def _search_for_spikes(tried: Tried) -> None:
    tried.head = 'method = "dp-nb"\nparameters = { epsilon = 1.0%s }\nutility = false\n'
    line = (
        '[policy]\nunit = "none"\n[policy.columns]\nwage = { bounds = [0, 900], type = "integer" }\n'
        'income = { role = "target", categories = ["high", "low"] }\n'
    )
    head, columns = tried.head, {"wage": AT * 17 % 900, "income": np.where(AT % 2, "high", "low")}
    tried.columns = {}
    searched = []
    for parameter in ("", ', spikes = "declared"'):
        tried.head = head % parameter
        account = tried(line, **columns).params["accounting"]
        searched.append(any(entry["purpose"].startswith("spikes of") for entry in account))
    assert searched == [True, False]


@of("ledger.epsilon_of_all_releases is gone from the report")
def _totals(tried: Tried) -> None:
    tried.head, tried.typed = 'method = "rr"\nparameters = { epsilon = 1.0 }\nutility = false\ndataset = "d"\n', ()
    line = (
        '[policy]\nunit = "none"\ntarget = false\n[policy.columns]\n'
        'sex = { role = "quasi_identifier", categories = ["F", "M"] }'
    )
    tried.columns = {"sex": PLAIN["sex"]}
    ledger = tried(line).report["ledger"]
    assert "epsilon_of_all_releases" not in ledger
    assert [total["epsilon"] for total in ledger["totals"]] == pytest.approx([1.0])


@of("a budget of an older ledger is refused once")
def _budget(tried: Tried) -> None:
    tried.head, tried.typed = 'method = "rr"\nparameters = { epsilon = 0.5 }\nutility = false\ndataset = "d"\n', ()
    line = (
        '[policy]\nunit = "none"\ntarget = false\n[policy.columns]\n'
        'sex = { role = "quasi_identifier", categories = ["F", "M"] }'
    )
    tried.columns = {"sex": PLAIN["sex"]}
    place = tried.folder / NAME
    assert tried.cli("ledger", "create", place).code == 0
    assert tried(line).code == 0
    with closing(sqlite3.connect(place)) as connection, connection:  # as the version before 0.2 knew it
        connection.execute("UPDATE dataset SET budget = '2.0'")
        as_version_4(connection.execute)
        connection.execute("DROP TABLE ledger")
        connection.execute("PRAGMA user_version = 4")
    (tried.folder / POINTER).unlink()
    assert tried(line).is_refused(1, "unknown neighbours")
    assert tried.run(line, "in.csv", "--budget", "1").code == 0


@of("the stated ε of a shuffled release above 10,000 rows is slightly larger")
def _shuffle(tried: Tried) -> None:
    rows = 12_000
    tried.head = 'method = "rr"\nparameters = { epsilon = 1.0%s }\nutility = false\n'
    line = (
        '[policy]\nunit = "none"\ntarget = false\n[policy.columns]\n'
        'sex = { role = "quasi_identifier", categories = ["F", "M"] }'
    )
    tried.columns = {"sex": np.where(np.arange(rows) % 2, "F", "M")}
    head, stated = tried.head, []
    for more in ("", f", shuffle_delta = {1 / (10 * rows)}"):
        tried.head = head % more
        shuffle = tried(line).report["shuffle"]
        stated.append((shuffle["delta"], shuffle["epsilon"]))
    assert stated[0][0] < stated[1][0] == pytest.approx(1 / (10 * rows))
    assert stated[0][1] > stated[1][1]


@of("exit code 2: earlier releases of this folder are in another ledger")
def _pointer(tried: Tried) -> None:
    tried.typed = ()
    first = tried.folder / "first.sqlite"
    Ledger.create(first)
    pd.DataFrame(tried.columns).to_csv(tried.folder / "in.csv", index=False)
    assert tried.run(ROWS_ALONE, "in.csv", "--ledger", str(first)).code == 0
    assert tried.run(ROWS_ALONE, "in.csv").is_refused(2, "earlier releases of this folder")
    assert tried.run(ROWS_ALONE, "in.csv", "--ledger", str(first)).code == 0
    assert tried.run(ROWS_ALONE, "in.csv", "--new-ledger").code == 0


@of("apply ends with exit code 2: no ledger knows the release")
def _unknown_release(tried: Tried) -> None:
    assert tried(ROWS_ALONE).code == 0
    asked = ("apply", tried.folder / "out.parquet", tried.folder / "in.csv", tried.folder / "again.parquet", "--quiet")
    refused = tried.cli(*asked)
    assert refused.code == 2
    assert "--adopt" in refused.err
    assert tried.cli(*asked, "--no-ledger").code == 0
    assert tried.cli(*asked, "--adopt", "--force").code == 0


@of("a key without its ledger is refused")
def _key_alone(tried: Tried) -> None:
    tried.typed = ()
    place = tried.folder / NAME
    assert tried.cli("ledger", "create", place).code == 0
    assert tried(ROWS_ALONE).code == 0
    place.unlink()
    (tried.folder / POINTER).unlink()
    refused = tried(ROWS_ALONE)
    assert refused.code == 3
    assert "key" in refused.err
    assert tried.cli("ledger", "create", place).code == 0
    assert tried(ROWS_ALONE).code == 0


@of("rfka shows boxes, each of its own size, with k of 40 or more")
def _boxes_of_large_k(tried: Tried) -> None:
    frame = corners()
    tried.columns = {name: frame[name] for name in frame}
    recodings = []
    for more in ("", ", boxes = false"):
        tried.head = f'utility = false\nmethod = "rfka"\nparameters = {{ k = 40, trees = 30{more} }}\n'
        policy = '[policy]\nunit = "none"\n[policy.columns]\ny = { role = "target" }'
        recodings.append(tried(policy).params["recoding"]["kind"])
    assert recodings == ["local", "global"]


def test_every_row_that_a_command_can_show_is_tried() -> None:
    """The test tries every recipe, but for the figure that nothing restores."""
    assert {row.seen for row in ROWS} - {*CASES} == {"prediction_of_target is lower, or not measured"}
    assert {*CASES} - {row.seen for row in ROWS} <= {*WITHOUT_RECIPE}


QUICK = (
    "exit code 1: a column has the form of identifiers, or numbers the rows",
    "coarser groups; the report lists guarantee.parameters.candidates",
    "exit code 1: more than 5 % of a column's cells outside its declared bounds, categories or form, under k-anonymity",
    "apply ends with exit code 2: no ledger knows the release",
)
"""Those that are tried whenever tests run; the others are slow together."""


@pytest.mark.quick_cases("coarser*")
@pytest.mark.parametrize(
    "seen", [pytest.param(seen, id=seen[:40], marks=[] if seen in QUICK else pytest.mark.slow) for seen in CASES]
)
def test_the_symptom_is_gone_with_the_line_that_restores_it(cli: Any, tmp_path: Path, seen: str) -> None:
    """Shown first, without the line."""
    CASES[seen](Tried(cli, tmp_path))
