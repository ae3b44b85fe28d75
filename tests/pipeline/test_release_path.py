"""The main path: what is refused before the data are opened, what is refused after, and what stays behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.engines import LocalEngine
from anonkit.errors import AnonkitError, EngineError, GuaranteeError, PolicyError, SourceError
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.protocols import Draft, Engine, Method, Progress, Source, no_progress
from anonkit.randomness import Randomness

FAMILIES: dict[str, dict[str, Any]] = {
    "mondrian": {"k": 5},
    "rr": {"epsilon": 2.0},
    "dp-nb": {"epsilon": 1.0},
}
"""A quick method of every promise."""


class Untouchable:
    """A table that must not be read, and knows whether it was."""

    opened = False

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.opened = True
        raise AssertionError("the table was opened")


@dataclass(frozen=True, kw_only=True)
class Claiming:
    """A method that works as one and promises as another, or fails."""

    works: Method
    claims: Method
    roles: dict[str, list[str]] = field(default_factory=dict)
    fails: bool = False
    name = "claiming"
    paper = "none"
    summary = "promises as another method"
    target_use = TargetUse.OPTIONAL

    def guarantee(self, policy: Policy) -> Any:
        """Promise what the other one would."""
        return self.claims.guarantee(policy)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Work as it can, with other roles perhaps."""
        changed = policy.with_roles(**self.roles) if self.roles else policy
        draft = self.works.release(source, changed, engine=engine, rng=rng, progress=progress)
        if self.fails:
            raise RuntimeError("it fails in the middle")
        return draft


def claiming(name: str, works: dict[str, Any], claims: dict[str, Any], **more: Any) -> Claiming:
    """A method with other parameters than it promises."""
    return Claiming(works=make_method(name, works), claims=make_method(name, claims), **more)


LIES = {
    "a smaller k": claiming("mondrian", {"k": 2}, {"k": 30}),
    "diversity": claiming("mondrian", {"k": 2}, {"k": 2, "l": 4}),
    "a name": claiming("mondrian", {"k": 2}, {"k": 2}, roles={"insensitive": ["name"]}),
    "a larger local epsilon": claiming("rr", {"epsilon": 4.0}, {"epsilon": 1.0}),
    "a larger central epsilon": claiming("dp-nb", {"epsilon": 2.0}, {"epsilon": 1.0}),
    "a larger epsilon of trees": claiming("edprf", {"epsilon": 2.0}, {"epsilon": 1.0}),
}


@pytest.fixture(scope="module")
def named() -> pa.Table:
    """Customers with a name each: too few for a model of the target, which would take most of the time here."""
    table = bank_customers(90, seed=3)
    return table.add_column(0, "name", pa.array([f"Customer {at:04d}" for at in range(table.num_rows)]))


@pytest.fixture(scope="module")
def policy() -> Policy:
    """Public domains for them; the name identifies, nothing is sensitive but what a test says."""
    return bank_customers_policy().with_roles(identifiers=["name"])


def files_in(folder: Path) -> list[str]:
    """Every file below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


REFUSED: dict[str, dict[str, Any]] = {
    "an unknown method": {"method": "mondriaan"},
    "an unknown parameter": {"method": "mondrian", "kk": 5},
    "a parameter outside its range": {"method": "mondrian", "k": 1},
    "an unknown preset": {"method": "rfka", "preset": "papers"},
    "parameters beside a method value": {"method": make_method("mondrian", {"k": 5}), "k": 5},
    "a preset beside a method value": {"method": make_method("mondrian", {"k": 5}), "preset": "paper"},
    "an unknown engine": {"engine": "sparks"},
    "settings of Spark for this machine": {"spark_master": "local[2]"},
    "settings beside an engine value": {"engine": LocalEngine(), "search_rows": 5},
    "no row to search on": {"search_rows": 0},
    "half a row to search on": {"search_rows": 1.5},
    "a truth as a number of rows": {"search_rows": True},
    "parts of half a row": {"part_rows": 60.5, "output": "out.parquet"},
    "parts of no rows": {"part_rows": 0, "output": "out.parquet"},
    "parts in memory": {"part_rows": 10},
    "an output of another kind": {"output": "out.pdf"},
    "an output on a server": {"output": "s3://bucket/out.parquet"},
    "an output that is there": {"output": "there.parquet"},
    "an owner report beside the release": {"output": "out.parquet", "owner_report": "."},
    "a signature of a seeded release": {"sign": "owner.pem", "seed": 1, "output": "out.parquet"},
    "a signature in memory": {"sign": "owner.pem"},
    "a key that is not there": {"sign": "key.pem", "output": "out.parquet"},
    "a policy that is not there": {"policy": "policy.toml"},
    "two roles for a column": {"identifiers": ["age"], "sensitive": ["age"]},
    "a budget of nothing": {"budget": 0.0, "output": "out.parquet"},
    "a budget that is no number": {"budget": float("nan"), "output": "out.parquet"},
    "a budget that is a text": {"budget": "3", "output": "out.parquet"},
    "a budget that is a truth": {"budget": True, "output": "out.parquet"},
    "a joint view of somebody and a half": {"accept_joint_k": 1.5, "output": "out.parquet"},
    "a category of one person": {"method": "rr", "epsilon": 1.0, "domains_from_data": True, "domains_min_people": 1},
    "a category of half a person": {
        "method": "rr",
        "epsilon": 1.0,
        "domains_from_data": True,
        "domains_min_people": 2.5,
    },
    "a joint view of nobody": {"accept_joint_k": 0, "output": "out.parquet"},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_given_wrong_is_refused_before_the_table_is_opened(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cell is read for a release that cannot be, and nothing is written or changed."""
    monkeypatch.chdir(tmp_path)
    Path("there.parquet").write_bytes(b"another release")
    Path("owner.pem").write_bytes(
        Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    table = Untouchable()
    with pytest.raises(AnonkitError) as refused:
        anonkit.release(table, **{"method": "mondrian", **REFUSED[case]})
    assert not table.opened
    assert not isinstance(refused.value, GuaranteeError)
    assert refused.value.message
    assert files_in(tmp_path) == ["owner.pem", "there.parquet"]
    assert Path("there.parquet").read_bytes() == b"another release"


def test_a_table_is_opened_when_nothing_is_wrong() -> None:
    """The table of the test above notices when it is read."""
    table = Untouchable()
    with pytest.raises(SourceError, match="cannot be read"):
        anonkit.release(table, method="mondrian")
    assert table.opened


MISTYPED: dict[str, dict[str, Any]] = {
    "the target": {"target": "customer_valu"},
    "an identifier": {"identifiers": ["nam"]},
    "a sensitive column": {"sensitive": ["incom"]},
    "a column that is left out": {"insensitive": ["deposi"]},
    "the unit": {"unit": "nam"},
}


@pytest.mark.quick_cases("*-mondrian-False", "*-dp-nb-False", "the target-*-True")
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    "name", ["mondrian", "rr", "errph", "trr", "safepub", "dp-nb", "dp-forest", "dp-marginals", "edprf"]
)
@pytest.mark.parametrize("case", MISTYPED)
def test_a_role_of_no_column_is_told_before_domains_are_asked_for(
    case: str, name: str, declared: bool, named: pa.Table, tmp_path: Path
) -> None:
    """With the closest name, whatever is declared; names of columns are public, and nothing about rows is disclosed."""
    own = bank_customers_policy()
    columns = {column: spec for column, spec in own.columns.items() if column != "customer_value"}
    parameters = {"k": 5} if name == "mondrian" else {} if name == "trr" else {"epsilon": 1.0}
    file = tmp_path / "in.csv"
    csv.write_csv(named, file)
    for source in (named, file):
        with pytest.raises(PolicyError, match=r"column '\w+' is not in the table") as refused:
            anonkit.release(
                source,
                method=name,
                policy=replace(own, columns=columns) if declared else None,
                **{**parameters, **MISTYPED[case]},
            )
        meant = str(next(iter(MISTYPED[case].values())))
        assert str(refused.value.hint).startswith("did you mean '")
        assert meant.strip("[']") in str(refused.value.hint)


def test_a_source_that_cannot_be_read_leaves_the_first_refusal() -> None:
    """That nothing is declared is said of a file that is not there, too, and of a table with all its columns."""
    for source in ("nowhere.csv", bank_customers(20, seed=1)):
        with pytest.raises(PolicyError, match=r"no public domain|the policy declares none"):
            anonkit.release(source, method="dp-nb", epsilon=1.0, target="customer_value")


@pytest.mark.quick_cases(
    "a larger central epsilon-False",
    "a larger epsilon of trees-False",
    "a larger local epsilon-False",
    "a name-False",
    "a smaller k-False",
)
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_a_method_that_does_not_keep_its_promise_is_refused(
    lie: str, dry_run: bool, named: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    """The output of any method is checked against the promise: no file is written, what was drawn is booked."""
    sensitive = ["income"] if lie == "diversity" else []
    given: dict[str, Any] = {"policy": policy.with_roles(sensitive=sensitive), "ledger": tmp_path / "ledger"}
    place = tmp_path / "out" / "out.parquet"
    with pytest.raises(GuaranteeError) as refused:
        anonkit.release(named, method=LIES[lie], output=place, dry_run=dry_run, dataset="d", **given)
    assert "nothing was written" in str(refused.value.hint)  # no rows are suppressed for an epsilon
    assert ("suppression" in str(refused.value.hint)) is ("epsilon" not in lie and lie != "a name")
    assert not place.parent.exists() or files_in(place.parent) == []

    honest = anonkit.release(named, method="rr", epsilon=1.0, output=place, dataset="d", **given)
    charged = "epsilon" in lie and not dry_run
    assert honest.report["ledger"]["release_of_dataset"] == 1 + charged


@pytest.mark.slow
def test_the_same_methods_are_released_when_they_tell_the_truth(named: pa.Table, policy: Policy) -> None:
    """The refusals above are of the false statement, not of the test's method."""
    for name, parameters in FAMILIES.items():
        release = anonkit.release(named, method=claiming(name, parameters, parameters), policy=policy)
        assert release.report["method"]["name"] == "claiming"
        assert all(check["passed"] for check in release.report["verification"]["checks"])


@pytest.mark.quick_cases("rr")
@pytest.mark.parametrize("name", FAMILIES)
def test_no_private_file_stays_behind(name: str, named: pa.Table, policy: Policy, temporary: Path) -> None:
    """Neither after a release, nor after a refusal, nor when a method fails in the middle."""
    given = {"policy": policy, "ledger": None}
    anonkit.release(named, method=name, **FAMILIES[name], **given)
    assert files_in(temporary) == []
    with pytest.raises(RuntimeError, match="in the middle") as failed:
        anonkit.release(named, method=claiming(name, FAMILIES[name], FAMILIES[name], fails=True), **given)
    assert files_in(temporary) == []
    with pytest.raises(GuaranteeError) as refused:
        anonkit.release(named, method=LIES["a larger local epsilon"], **given)
    assert files_in(temporary) == []
    # the errors hold every object of the path until here: what is gone was deleted, not collected
    assert failed.tb is not refused.tb


@pytest.mark.quick_cases("rr", "dp-nb")
@pytest.mark.parametrize("name", FAMILIES)
def test_a_plan_is_the_release_without_its_files(name: str, named: pa.Table, policy: Policy, tmp_path: Path) -> None:
    """A dry run has the report, the parameters and the owner's figures of the release with the same seed."""
    given = {"method": name, "policy": policy, "seed": 4, "ledger": None, **FAMILIES[name]}
    plan = anonkit.release(named, output=tmp_path / "out.parquet", dry_run=True, **given)
    assert not list(tmp_path.iterdir())
    made = anonkit.release(named, output=tmp_path / "out.parquet", **given)
    assert json.loads(json.dumps(plan.params)) == made.params
    assert {**json.loads(json.dumps(plan.report)), "created": None} == {**made.report, "created": None}
    assert plan.owner == made.owner


@pytest.mark.quick_cases("rr", "dp-nb")
@pytest.mark.parametrize("name", FAMILIES)
def test_memory_disk_and_parts_hold_the_same_rows(name: str, named: pa.Table, policy: Policy, tmp_path: Path) -> None:
    """With the same seed: the same rows in the same order and the same params.json, wherever they go."""
    given = {"method": name, "policy": policy, "seed": 4, "ledger": None, **FAMILIES[name]}
    memory = anonkit.release(named, **given)
    disk = anonkit.release(named, output=tmp_path / "out.parquet", **given)
    parts = anonkit.release(named, output=tmp_path / "parts.parquet", part_rows=20, **given)
    assert memory.contents is not None
    for other, stem in ((disk, "out"), (parts, "parts")):
        assert other.to_arrow().equals(memory.to_arrow())
        assert (tmp_path / f"{stem}.params.json").read_bytes() == memory.contents[".params.json"]
    sizes = [pq.read_metadata(path).num_rows for path in sorted((tmp_path / "parts.parquet").iterdir())]
    assert sum(sizes) == memory.to_arrow().num_rows
    assert len(sizes) > 1
    assert max(sizes) <= 20


@pytest.mark.parametrize("more", [{}, {"domains_from_data": True, "policy": None}])
@pytest.mark.parametrize("name", ["rr", "dp-nb"])
def test_a_stream_that_can_be_read_once_is_released_as_its_table(
    name: str, more: dict[str, Any], named: pa.Table, policy: Policy
) -> None:
    """Reading domains from the table needs its rows twice; the stream is read once, and no row is lost."""
    given: dict[str, Any] = {
        "method": name,
        "policy": policy,
        "seed": 4,
        "identifiers": ["name"],
        **FAMILIES[name],
        **more,
    }
    stream = pa.RecordBatchReader.from_batches(named.schema, named.to_batches(max_chunksize=40))
    assert anonkit.release(stream, **given).to_arrow().equals(anonkit.release(named, **given).to_arrow())


@pytest.mark.quick_cases("rr")
@pytest.mark.parametrize("name", FAMILIES)
def test_progress_names_the_steps_and_the_share_done(name: str, named: pa.Table, policy: Policy) -> None:
    """Reading comes first, checking last; shares are in [0, 1] and never fall within a step."""
    told: list[tuple[str, float]] = []
    anonkit.release(named, method=name, policy=policy, progress=lambda *told_: told.append(told_), **FAMILIES[name])
    steps = [step for step, _ in told]
    assert steps[0] == "reading"
    assert steps[-1] == "checking"
    assert all(0 <= share <= 1 for _, share in told)
    for step in set(steps):
        shares = [share for other, share in told if other == step]
        assert shares == sorted(shares)


def test_a_place_that_cannot_be_written_is_an_error_of_one_line(
    named: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    """A file where a folder should be: nothing appears beside it, and the release is not booked."""
    (tmp_path / "file").write_text("not a folder")
    given = {"method": "rr", "epsilon": 1.0, "policy": policy, "ledger": tmp_path / "ledger", "dataset": "d"}
    with pytest.raises(EngineError, match="cannot write"):
        anonkit.release(named, output=tmp_path / "file" / "out.parquet", **given)
    assert (tmp_path / "file").read_text() == "not a folder"
    honest = anonkit.release(named, output=tmp_path / "out.parquet", **given)
    assert honest.report["ledger"]["release_of_dataset"] == 1


@pytest.mark.slow
def test_a_target_that_nobody_named_is_told(named: pa.Table) -> None:
    """The last column without a role is taken, and the note names it; a named one needs no note."""
    release = anonkit.release(named, method="mondrian", k=5, identifiers=["name"])
    assert any("'customer_value'" in note for note in release.report["notes"])
    release = anonkit.release(named, method="mondrian", k=5, identifiers=["name"], target="income")
    assert not any("'customer_value'" in note for note in release.report["notes"])


@pytest.fixture(scope="module")
def first(named: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A k-anonymous release on disk."""
    place = tmp_path_factory.mktemp("first") / "out.parquet"
    anonkit.release(
        named,
        method="mondrian",
        k=4,
        identifiers=["name"],
        insensitive=["loan", "deposit", "swipe_amount"],
        target="customer_value",
        output=place,
        ledger=None,
    )
    return place


def batches() -> Iterator[pa.Table]:
    """Next batches, with and without names."""
    yield bank_customers(95, seed=4)
    yield bank_customers(95, seed=5).append_column("name", pa.array([f"Customer {at}" for at in range(95)]))


@pytest.mark.slow
def test_the_next_batch_is_recoded_with_the_labels_of_the_first(first: Path) -> None:
    """No label is new but the star, names are dropped or may be absent, and k is counted anew in the batch alone."""
    known = anonkit.load(first).to_arrow()
    asked = anonkit.load(first).report["guarantee"]["parameters"]["quasi_identifiers"]
    for batch in batches():
        applied = anonkit.apply(first, batch, max_suppression=1.0, ledger=None)
        rows = applied.to_arrow()
        assert "name" not in rows.column_names
        assert rows.num_rows > 20
        shown = [name for name in asked if name in rows.column_names]
        assert shown
        for name in shown:
            assert set(rows.column(name).to_pylist()) <= {*known.column(name).to_pylist(), "*"}
        sizes = rows.to_pandas().groupby(shown, dropna=False, observed=True).size()
        assert sizes.min() == applied.report["disclosure_risk"]["k_anonymity"]["k"] >= 4
        assert rows.num_rows + applied.report["rows"]["suppressed"] == 95


def test_a_recoding_that_was_changed_is_not_applied(first: Path, tmp_path: Path) -> None:
    """The descriptor has the hash of params.json; a looser k in it is refused before the batch is opened."""
    copy = anonkit.load(first).save(tmp_path / "copy.parquet")
    assert copy.place is not None
    params = tmp_path / "copy.params.json"
    text = params.read_text(encoding="utf-8")
    assert '"k": 4' in text
    params.write_text(text.replace('"k": 4', '"k": 2'), encoding="utf-8")
    with pytest.raises(GuaranteeError):
        anonkit.apply(params, Untouchable(), ledger=None)


def test_a_release_without_rows_says_why() -> None:
    """Noise that leaves nothing is an outcome like any other: the reason is in the release, and nowhere else."""
    columns = {
        "sex": {"role": "quasi_identifier", "categories": ["a", "b"]},
        "ill": {"role": "target", "categories": ["x", "y"]},
    }
    asked: dict[str, Any] = {"method": "dp-nb", "epsilon": 0.001, "policy": {"columns": columns}, "ledger": None}
    table = pa.table({"sex": ["a", "b"], "ill": ["x", "y"]})
    seen = set()
    for seed in range(12):
        report = anonkit.release(table, seed=seed, **asked).report
        seen.add(is_empty := report["rows"]["out"] == 0)
        assert any(note.startswith("No row is released: the noise") for note in report["notes"]) is is_empty
    assert seen == {True, False}
