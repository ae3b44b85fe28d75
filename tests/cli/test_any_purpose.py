"""Every command on a release for any purpose, with a target, with a number as target, and without one."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Cli

JOBS = ("clerk", "nurse", "smith")
COLUMNS = {
    "age": "bounds = [17, 90]",
    "job": 'categories = ["clerk", "nurse", "smith"]',
    "sex": 'categories = ["F", "M"]',
}


@pytest.mark.quick_cases("job")
@pytest.mark.parametrize("target", [None, "job", "age"])
def test_every_command_answers_in_words(cli: Cli, tmp_path: Path, target: str | None) -> None:
    """Done, or one clear line with a hint and the code of wrong usage; never an internal error."""
    cells = (f"{17 + at % 70},{JOBS[at % 3]},{'FM'[at % 2]}" for at in range(300))
    (tmp_path / "in.csv").write_text("\n".join(["age,job,sex", *cells]) + "\n")
    roles = {name: 'role = "target", ' if name == target else "" for name in COLUMNS}
    stated = "\n".join(f"{name} = {{ {roles[name]}{domain} }}" for name, domain in COLUMNS.items())
    head = "target = false\n" if target is None else ""
    (tmp_path / "policy.toml").write_text(f'dataset = "people"\n{head}[columns]\n{stated}\n')
    (tmp_path / "r.toml").write_text(
        'method = "dp-marginals"\ninput = "in.csv"\noutput = "run.parquet"\npolicy = "policy.toml"\n'
        "[parameters]\nepsilon = 2.0\n"
    )
    source, out, ledger = tmp_path / "in.csv", tmp_path / "out.parquet", tmp_path / "ledger.jsonl"
    made = cli(
        "release", "--method", "dp-marginals", "--epsilon", "2", "--policy", tmp_path / "policy.toml",
        "--ledger", ledger, source, out,
    )  # fmt: skip
    assert made.code == 0, made.err
    answers = {
        "run": cli("run", tmp_path / "r.toml", "--no-ledger"),
        "validate": cli("validate", out),
        "report": cli("report", out),
        "export": cli("export", out, tmp_path / "rows.csv"),
        "ledger": cli("ledger", ledger),
        "audit": cli("audit", out, "--original", source, "--runs", "20"),
        "reconstruct": cli("reconstruct", out, "--test", source),
        "apply": cli("apply", tmp_path / "out.params.json", source, tmp_path / "new.parquet"),
    }
    assert {name: ran.code for name, ran in answers.items()} == {
        **dict.fromkeys(answers, 0),
        "reconstruct": 2 if target is None else 0,
        "apply": 3,
    }, [ran.err for ran in answers.values()]
    if target is None:
        assert "no column of this release is its target" in answers["reconstruct"].err
        assert cli("reconstruct", out, "--test", source, "--target", "sex").code == 0
    assert "only k-anonymous releases" in answers["apply"].err
    assert "epsilon  claimed 2" in answers["audit"].out
    if target is None:
        ran = cli("compare", source, "--policy", tmp_path / "policy.toml", "--methods", "dp-marginals")
        assert (ran.code, "--target COLUMN" in ran.err) == (2, True)


def test_a_receiver_draws_and_counts_by_the_command(cli: Cli, tmp_path: Path) -> None:
    """Tables with their intervals, rows under conditions, in words and as JSON; what is wrong ends with one line."""
    cells = (f"{17 + at % 70},{JOBS[at % 3]},{'FM'[at % 2]}" for at in range(600))
    (tmp_path / "in.csv").write_text("\n".join(["age,job,sex", *cells]) + "\n")
    stated = "\n".join(f"{name} = {{ {domain} }}" for name, domain in COLUMNS.items())
    (tmp_path / "policy.toml").write_text(f"target = false\n[columns]\n{stated}\n")
    out, drawn = tmp_path / "out.parquet", tmp_path / "drawn.parquet"
    made = cli(
        "release", "--method", "dp-marginals", "--epsilon", "8", "--policy", tmp_path / "policy.toml",
        tmp_path / "in.csv", out,
    )  # fmt: skip
    assert made.code == 0, made.err
    asked = ("reconstruct", out, "--table", "job", "--table", "age, job, sex", "--draw", drawn, "--rows", "50",
             "--given", "job=clerk", "--given", "job=nurse", "--given", "age=20..60")  # fmt: skip
    told = cli(*asked)
    assert told.code == 0, told.err
    assert "Read the mixture of" in told.out
    assert "Columns    age, job, sex" in told.out
    assert "Drawn      50 rows" in told.out
    assert "more: --json has all" in told.out
    rows = pq.read_table(drawn).to_pydict()
    assert set(rows["job"]) <= {"clerk", "nurse"}
    assert all(20 <= age <= 60 for age in rows["age"])
    assert len(rows["sex"]) == 50
    again = cli(*asked)
    assert (again.code, "exists" in again.err) == (2, True)
    document = cli(*asked, "--force", "--json").document
    assert document["drawn"] == 50
    assert [len(table["cells"]) for table in document["tables"]] == [4, 17 * 4 * 3]  # missing is a value of each
    for wrong, message in ((("--given", "job"), "a column, = and a value"), (("--table", "jobb"), "not a column")):
        ran = cli("reconstruct", out, *wrong)
        assert (ran.code, message in ran.err) == (2, True)


@pytest.fixture
def odd(cli: Cli, tmp_path: Path) -> Path:
    """A release of columns whose names and values have commas, equals signs and outer spaces."""
    cells = "".join(f'{17 + at % 70},{"xyz"[at % 3]},"{("p q", " p", "q=")[at % 3]}"\n' for at in range(600))
    (tmp_path / "in.csv").write_text('age,"a, b","x=y "\n' + cells)
    (tmp_path / "policy.toml").write_text(
        'target = false\n[columns]\nage = { bounds = [18, 90] }\n"a, b" = { categories = ["x", "y", "z"] }\n'
        '"x=y " = { categories = ["p q", " p", "q="] }\n'
    )
    out = tmp_path / "out.parquet"
    ran = cli("release", "--method", "dp-marginals", "--epsilon", "8", "--policy", tmp_path / "policy.toml",
              tmp_path / "in.csv", out)  # fmt: skip
    assert ran.code == 0, ran.err
    return out


def test_odd_names_and_values_are_asked_for_in_quotes(cli: Cli, odd: Path) -> None:
    """As dp-tables reads them; the value of a number is shown, and nothing after = means missing."""
    ran = cli("reconstruct", odd, "--table", '"a, b", "x=y ",age', "--given", "age=20..30", "--given", "age=50..60",
              "--given", '"x=y "= p', "--given", '"x=y "=q=', "--given", '"a, b"=', "--given", '"a, b"=x')  # fmt: skip
    assert ran.code == 0, ran.err
    assert "Table      a, b, x=y , age" in ran.out
    assert "Given      age: [18, 31.5) or [49.5, 58.5), the bins whose middles lie in 20..30 or 50..60\n" in ran.out
    assert "           x=y :  p or q=\n" in ran.out
    assert "           a, b: x or missing\n" in ran.out
    ran = cli("reconstruct", odd, "--table", "age", "--given", "age=30", "--json")
    assert ran.document["given"]["age"]["ranges"] == [[27, 31.5]]
    for wrong, hint in (
        (("--table", "a, b"), """double quotes: '"a, b"'"""),
        (("--table", "age", "--given", "x=y=q"), """double quotes: '"a, b"'"""),
        (("--table", "age", "--given", "age=50..20"), "say 20..50"),
        (("--table", "age", "--given", "age=30..30"), "near are [27, 31.5) around 29.25"),
    ):
        ran = cli("reconstruct", odd, *wrong)
        assert (ran.code, hint in ran.err) == (2, True), ran.err


@pytest.mark.slow
def test_the_terminal_says_how_many_pairs_were_measured(cli: Cli, odd: Path) -> None:
    """Right after a release, of its report, and where it is read: other columns are drawn each by itself."""
    few = odd.with_name("few.parquet")
    asked = ("--epsilon", "0.01", "--policy", odd.with_name("policy.toml"), odd.with_name("in.csv"), few)
    made = cli("release", "--method", "dp-marginals", *asked)
    assert made.code == 0, made.err
    line = "0 of 3 measured: columns are drawn as if independent"
    assert line in " ".join(made.out.split())
    assert line in " ".join(cli("report", few).out.split())
    assert line in cli("reconstruct", few, "--table", "age").out
    assert line in cli("reconstruct", few, "--target", "age").out
    assert "Pairs " not in cli("release", "--method", "dp-marginals", "--dry-run", "--force", *asked).out
    assert "Pairs " in cli("reconstruct", odd).out
    assert "as if independent" not in cli("reconstruct", odd).out


def test_a_delta_that_is_not_far_below_one_in_the_rows_is_not_called_so(tmp_path: Path, cli: Cli) -> None:
    """On the page and on the terminal."""
    source = tmp_path / "in.csv"
    names = "abcdefghijklmnopqrst"  # of so many tables Gaussian noise is less
    source.write_text(",".join(names) + ("\n" + ",".join("1" * 20)) * 200 + "\n", encoding="utf-8")
    policy = tmp_path / "policy.toml"
    policy.write_text("".join(f'[columns.{one}]\nrole = "quasi_identifier"\nbounds = [0, 4]\n' for one in names))
    asked = ("--method", "dp-marginals", "--epsilon", "4", "--no-target", "--no-ledger", "--policy", policy)
    ran = cli("release", source, tmp_path / "out.parquet", *asked, "--delta", "0.001")
    assert ran.code == 0
    assert "is not far below one in" in " ".join(ran.out.split())
    page = (tmp_path / "out.report.html").read_text(encoding="utf-8")
    assert 'class="bad">δ = 0.001 is not far below one in' in page
    assert "is far below" not in page
