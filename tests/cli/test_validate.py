# SPDX-License-Identifier: Apache-2.0
"""`anonkit validate`: 0 only when everything declared and required was checked and holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from part_workers import Elsewhere

from anonkit.checks.requirements import Validation
from anonkit.engines import Spark
from anonkit.errors import MissingDependencyError, ParameterError


def test_a_release_validates_as_it_was_made(cli: Any, released: Path) -> None:
    """Exit code 0; the promised figures, or with --verbose every check, and these in JSON."""
    plain, document = cli("validate", released), cli("validate", released, "--json").document
    whole = cli("validate", released, "--verbose").out.splitlines()

    assert plain.code == 0
    assert len(plain.out.splitlines()) <= 5
    assert "passed  Rows in the smallest equivalence class" in plain.out
    assert "more passed; --verbose lists them" in plain.out
    assert plain.out.splitlines()[1] in whole
    assert len(whole) > 20
    assert "--verbose" not in "".join(whole)
    assert f"{len(document['checks'])} of {len(document['checks'])} checks passed" in plain.out
    assert document["ok"] is True
    assert document["passed"] is True
    assert {"name", "passed", "observed", "required"} == set(document["checks"][0])


@pytest.mark.slow
def test_executors_read_where_they_are_asked_to(cli: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--engine spark`, with the master and the settings of Spark; the result is the same."""
    data, workers, opened = table.parent / "parts.parquet", Elsewhere(), []

    @contextmanager
    def executors(choice: Spark) -> Iterator[Elsewhere]:
        opened.append((choice.master, choice.conf))
        yield workers

    monkeypatch.setattr(Spark, "workers", executors)
    made = ("--method", "mondrian", "--k", "3", "--part-rows", "40", "--no-ledger", "--no-utility")
    assert cli("release", *made, table, data).code == 0
    alone = cli("validate", data, "--json").document
    assert workers.calls == []
    arguments = ("--engine", "spark", "--spark-master", "spark://host:7077", "--spark-conf", "a=b")
    assert cli("validate", data, *arguments, "--json").document == alone
    assert opened == [("spark://host:7077", {"a": "b"})]
    assert len(workers.calls) >= 3
    assert cli("validate", data, "--spark-master", "spark://host:7077").code == 2


@pytest.mark.quick_cases("asked0-*", "asked1-*")
@pytest.mark.parametrize(
    ("asked", "code"), [(("--k", "3"), 0), (("--k", "60"), 1), (("--l", "1"), 0), (("--l", "4"), 1), (("--t", "0"), 1)]
)
def test_more_can_be_asked_than_was_promised(cli: Any, released: Path, asked: tuple[str, ...], code: int) -> None:
    """k, l and t on top of the report's own promise."""
    assert cli("validate", released, *asked).code == code


@pytest.mark.slow
def test_a_changed_file_fails(cli: Any, released: Path) -> None:
    """Another row in the data file is noticed, reported on stderr and in JSON, with exit code 1."""
    rows = pq.read_table(released)
    pq.write_table(pa.concat_tables([rows, rows.slice(0, 1)]), released)
    plain, quiet, ran = (
        cli("validate", released),
        cli("validate", released, "--quiet"),
        cli("validate", released, "--json"),
    )

    assert plain.code == quiet.code == ran.code == 1
    assert "FAILED" in plain.out
    assert plain.err.startswith("Error: ")
    assert quiet.out == ""
    assert ran.document["ok"] is False
    assert ran.document["code"] == "PROMISE"
    assert any(not check["passed"] for check in ran.document["checks"])


@pytest.mark.quick_cases(".report.json")
@pytest.mark.parametrize("suffix", [".params.json", ".report.json", ".datapackage.json"])
def test_what_is_missing_cannot_be_checked(cli: Any, released: Path, suffix: str) -> None:
    """A release without one of its files is not validated: exit code 3, or 1, never 0."""
    released.with_name(f"out{suffix}").unlink()
    ran = cli("validate", released)

    assert ran.code in (1, 3)
    assert ran.err.startswith("Error: ")


@pytest.mark.quick_cases(".params.json-{}", ".parquet-")
@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff\xfe", b'{"format": "anonkit-report/1"}'])
@pytest.mark.parametrize("suffix", [".params.json", ".report.json", ".datapackage.json", ".parquet"])
def test_a_damaged_file_is_named_without_a_traceback(cli: Any, released: Path, suffix: str, content: bytes) -> None:
    """Any damage of a sidecar or of the data file gives a refusal or a failed check."""
    released.with_name(f"out{suffix}").write_bytes(content)
    ran = cli("validate", released)

    assert ran.code in (1, 3)
    assert "internal error" not in ran.err


def test_what_does_not_exist_cannot_be_checked(cli: Any, tmp_path: Path) -> None:
    """Exit code 3, not 0 and not wrong usage."""
    ran = cli("validate", tmp_path / "absent.parquet")

    assert ran.code == 3
    assert "does not exist" in ran.err


NAMED = ("--release-as-is", "name")
"""The table has names of persons, which no plain table is passed with otherwise."""


@pytest.mark.slow
def test_any_table_can_be_asked(cli: Any, table: Path) -> None:
    """A plain table with --qi and what is requested; names with commas in quotes, as in CSV."""
    assert cli("validate", table, *NAMED, "--qi", "sex", "--k", "30").code == 0
    assert cli("validate", table, "--qi", "sex", "--k", "30").code == 1
    assert cli("validate", table, *NAMED, "--qi", "sex,zip", "--k", "30").code == 1
    assert cli("validate", table, *NAMED, "--qi", "sex", "--qi", "zip", "--k", "6").code == 0
    assert cli("validate", table, *NAMED, "--qi", "sex", "--sensitive", "illness", "--l", "2", "--t", "0.5").code == 0
    awkward = table.with_name("awkward.csv")
    awkward.write_text('"a,b",c\n' + "1,2\n" * 5, encoding="utf-8")
    assert cli("validate", awkward, "--qi", '"a,b",c', "--k", "5").code == 0


@pytest.mark.parametrize(
    "arguments", [(), ("--k", "2"), ("--qi", "sex"), ("--qi", "sx", "--k", "2"), ("--qi", "sex", "--l", "2")]
)
def test_nothing_to_check_is_wrong_usage(cli: Any, table: Path, arguments: tuple[str, ...]) -> None:
    """A plain table without a requirement, or without a column: exit code 2, never 0."""
    assert cli("validate", table, *arguments).code == 2


def test_fewer_checks_than_declared_is_never_a_pass(cli: Any, released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a check that the report declares was not made, or none was, the exit code is 3."""
    from anonkit.checks import validation as module

    whole = module.validate(released)
    declared = [
        check["name"]
        for check in json.loads(released.with_name("out.report.json").read_text())["verification"]["checks"]
    ]
    for left_out in declared:
        fewer = tuple(check for check in whole.checks if check.name != left_out)
        found = Validation(checks=fewer, disclosure=None)
        monkeypatch.setattr(module, "_validate_release", lambda *a, found=found: found)
        assert not module.validate(released).passed
        ran = cli("validate", released)
        assert ran.code == 3
        assert left_out in ran.err
    monkeypatch.setattr(module, "_validate_release", lambda *a: Validation(checks=(), disclosure=None))
    assert cli("validate", released).code == 3


def test_diversity_of_no_column_is_not_a_pass(cli: Any, table: Path) -> None:
    """Diversity of a release without a sensitive attribute cannot be checked: exit code 3."""
    output = table.with_name("out.parquet")
    assert (
        cli("release", table, output, "--method", "mondrian", "--k", "3", "--identifier", "name", "--quiet").code == 0
    )
    ran = cli("validate", output, "--l", "2")

    assert ran.code == 3
    assert "--sensitive" in ran.err
    assert cli("validate", output, "--l", "1", "--sensitive", "income").code == 0


def _rewritten(released: Path, change: Any) -> None:
    pq.write_table(change(pq.read_table(released)), released)


def _flip(released: Path) -> None:
    content = bytearray(released.read_bytes())
    content[40] ^= 1
    released.write_bytes(bytes(content))


TAMPERED = {
    "one row repeated": (
        lambda p: _rewritten(p, lambda t: pa.concat_tables([t, t.slice(0, 1)])),
        "it has more or fewer rows than its report says",
    ),
    "one identifier added": (
        lambda p: _rewritten(p, lambda t: t.append_column("name", pa.array(["x"] * len(t)))),
        "an identifier is among its columns",
    ),
    "params edited": (
        lambda p: p.with_name("out.params.json").write_text(
            p.with_name("out.params.json").read_text().replace('"max_suppression": 0.0', '"max_suppression": 0.5')
        ),
        "params.json was changed after the release",
    ),
    "page edited": (
        lambda p: p.with_name("out.report.html").write_text("fine"),
        "the report page was changed after the release",
    ),
}


@pytest.mark.quick_cases("one row repeated", "params edited")
@pytest.mark.parametrize("tampering", TAMPERED)
def test_each_kind_of_tampering_has_its_own_message(cli: Any, released: Path, tampering: str) -> None:
    """The message states the kind of tampering in words, not only as a list of checks."""
    change, message = TAMPERED[tampering]
    change(released)
    ran = cli("validate", released)
    assert ran.code == 1
    assert message in ran.err


def test_one_byte_is_told(cli: Any, released: Path) -> None:
    """A flipped byte of the data: changed after the release, whether the rest can be read any more or not."""
    _flip(released)
    ran = cli("validate", released)
    assert ran.code == 1
    assert "hash:data" in ran.err


@pytest.mark.slow
def test_results_for_a_build_server(cli: Any, released: Path, tmp_path: Path) -> None:
    """--junit writes the checks beside what is shown, also when they fail."""
    path = tmp_path / "results.xml"
    assert cli("validate", released, "--junit", path, "--quiet").code == 0
    assert ElementTree.parse(path).getroot()[0].get("failures") == "0"
    assert cli("validate", released, "--k", "60", "--junit", path, "--quiet").code == 1
    assert ElementTree.parse(path).getroot()[0].get("failures") == "1"


def test_more_models_can_be_asked(cli: Any, table: Path) -> None:
    """(alpha, k) and beta-likeness of any table."""
    asked = ("validate", table, *NAMED, "--qi", "sex", "--sensitive", "illness", "--alpha")
    assert cli(*asked, "0.9", "--beta", "2").code == 0
    assert cli(*asked, "0.01").code == 1
    assert cli("validate", table, "--qi", "sex", "--beta", "2").code == 2


GREEN = '<testsuites><testsuite tests="1" failures="0" errors="0"><testcase name="old"/></testsuite></testsuites>'


def _told(path: Path) -> tuple[str, str, str, str]:
    """Return the counts of a JUnit file, and the type of its first error."""
    suite = ElementTree.parse(path).getroot().find("testsuite")
    assert suite is not None
    error = suite.find("testcase/error")
    counts = [suite.get(name, "") for name in ("tests", "failures", "errors")]
    return counts[0], counts[1], counts[2], "" if error is None else error.get("type", "")


def _damage(released: Path) -> None:
    released.with_name("out.params.json").unlink()


def _raise(error: BaseException) -> Any:
    def raising(*args: object, **given: object) -> None:
        raise error

    return raising


ENDINGS: dict[str, tuple[int, tuple[str, ...], BaseException | None, str]] = {
    "an unknown option": (2, ("--kk", "3"), None, "USAGE"),
    "a value out of range": (2, ("--t", "7"), None, "USAGE"),
    "a parameter that does not fit": (2, ("--l", "2"), ParameterError("no"), "PARAMETER"),
    "an unreadable release": (3, (), None, "FORMAT"),
    "a missing extra": (4, (), MissingDependencyError("It is not installed"), "MISSING_EXTRA"),
    "an interrupt": (130, (), KeyboardInterrupt(), "INTERRUPTED"),
    "a fault of ours": (3, (), ZeroDivisionError("Person 007"), "INTERNAL"),
}


@pytest.mark.quick_cases("an unreadable release", "a fault of ours")
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_junit_file_is_of_this_run_however_it_ended(
    ending: str, cli: Any, released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Last week's success is replaced by an error that names what went wrong, and quotes nothing."""
    path = tmp_path / "results.xml"
    path.write_text(GREEN, encoding="utf-8")
    code, options, error, word = ENDINGS[ending]
    if error is not None:
        monkeypatch.setattr("anonkit.checks.validation.validate", _raise(error))
    elif code == 3:
        _damage(released)
    assert cli("validate", released, "--junit", path, *options).code == code
    assert _told(path) == ("1", "0", "1", word)
    assert "Person" not in path.read_text(encoding="utf-8")
    assert sorted(one.name for one in tmp_path.glob(".results*")) == []


@pytest.mark.slow
def test_a_validation_that_is_killed_leaves_an_error(
    cli: Any, released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it works the file says that it has not come to its end; `--junit=F` too, and without a table."""
    path = tmp_path / "results.xml"
    seen = []

    def looking(*args: object, **given: object) -> None:
        seen.append(_told(path))
        raise ParameterError("enough")

    monkeypatch.setattr("anonkit.checks.validation.validate", looking)
    for written in (("--junit", path), (f"--junit={path}",)):
        path.write_text(GREEN, encoding="utf-8")
        assert cli("validate", released, *written).code == 2
    assert seen == [("1", "0", "1", "INTERRUPTED")] * 2
    assert cli("validate", tmp_path / "nowhere.parquet", f"--junit={path}").code == 3
    assert _told(path)[3] == "SOURCE"
    for address, code in (("postgresql://me:q7secret9@host/x", 2), ("gopher://me:q7secret9@host/x", 3)):
        assert cli("validate", address, f"--junit={path}").code == code
        assert "q7secret9" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_junit_file_that_is_named_last_is_the_one(cli: Any, released: Path, tmp_path: Path) -> None:
    """As of every option: a command line with two leaves none of last week's where its result belongs."""
    other, path = tmp_path / "other.xml", tmp_path / "results.xml"
    path.write_text(GREEN, encoding="utf-8")
    assert cli("validate", released, "--junit", other, f"--junit={path}", "--kk", "3").code == 2
    assert _told(path)[3] == "USAGE"


@pytest.mark.quick_cases(".report.json")
@pytest.mark.parametrize("suffix", [".parquet", ".report.html", ".report.json"])
def test_a_junit_file_replaces_nothing_but_a_junit_file(cli: Any, released: Path, suffix: str) -> None:
    """If the name of the file was forgotten the option takes that of the release: its files are left alone."""
    file = released.with_name(f"out{suffix}")
    content = file.read_bytes()
    for words in (("--junit", file), ("--junit", file, "--k", "3"), (released, f"--junit={file}")):
        ran = cli("validate", *words)
        assert ran.code == 2
        assert "is no JUnit file" in ran.err
        assert file.read_bytes() == content
    assert cli("validate", released).code == 0


def test_a_junit_file_that_cannot_be_written_is_said(cli: Any, released: Path, tmp_path: Path) -> None:
    """The job must not go on with an older file."""
    ran = cli("validate", released, "--junit", tmp_path / "no folder" / "results.xml")
    assert ran.code == 3
    assert "cannot write" in ran.err
