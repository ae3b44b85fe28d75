"""Golden releases: seeded releases of every method, compared with what is stored under `expected/`.

A change of layout, names or plumbing must leave every released row, every byte of params.json and every figure of
report.json as they were. A change that is meant to alter them rewrites the files and says so in its commit:

    python tests/golden/rewrite.py [NAME ...]

prints which releases changed; look at the difference (`git diff tests/golden/expected`) before committing it.

What is where: `tables.py` makes the sources and policies, `cases.py` the releases (in memory and on disk; from Arrow,
CSV, Parquet and pandas; from Python and from the command line; the sampled path; a folder of data; the next batch;
models that consumers learn), `outcomes.py` says what is compared and what is prose. The modules use public names of
anonkit alone, so they hold while the package moves. The expected files are those of the versions in `constraints.txt`:
with other ones the numbers may differ in the last digit, so the tests skip then, and must not in CI.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from golden.cases import CASES
from golden.outcomes import EXPECTED, differences, files_of, other_versions, without_sentences

pytestmark = pytest.mark.pinned

REWRITE = "python tests/golden/rewrite.py"


@pytest.fixture(scope="module", autouse=True)
def pinned_versions() -> None:
    """The libraries are those of `constraints.txt`: tests skip where they are not, and must not in CI."""
    other = "; ".join(other_versions())
    if other and os.environ.get("CI"):
        pytest.fail(f"versions differ from constraints.txt in CI: {other}")
    if other:
        pytest.skip(f"golden releases hold for the versions of constraints.txt: {other}")


@pytest.mark.quick_cases(
    *("[!m]*--plain", "mondrian--plain", "rfka--diverse", "apply--rfka", "command--*", "ledger--*", "reconstruct--*"),
    *("rr--*", "err*", "ppnb*", "trr*", "dp-*", "dt-*", "diff*", "c45*", "sulq*", "pinq*"),
)
@pytest.mark.parametrize("name", CASES)
def test_a_seeded_release_is_what_it_was(name: str) -> None:
    """Data, params.json byte by byte, and the figures of the report are those that are stored."""
    for file, content in files_of(CASES[name]).items():
        path = EXPECTED / file
        assert path.exists(), f"{file} is not stored: {REWRITE} {name}"
        found = differences(file, content, path.read_bytes())
        assert not found, "\n".join((f"{file} differs; if that is meant: {REWRITE} {name}", *found))


def test_every_method_and_every_preset_has_a_golden_release() -> None:
    """Each method that `anonkit methods` lists is covered, the next method too."""
    command = [sys.executable, "-m", "anonkit", "methods", "--json"]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["methods"]
    assert {method["name"] for method in listed} == {case.method for case in CASES.values()}
    stored = {(one["name"], one["preset"]) for one in _stored_methods()}
    for method in listed:
        for preset in method["presets"]:
            assert (method["name"], preset) in stored


def test_nothing_is_stored_that_is_not_compared() -> None:
    """Every stored file belongs to a release, which is made and compared."""
    stored = {path.name for path in EXPECTED.iterdir()}
    assert stored == {file for file in stored if re.sub(r"(\.params)?\.json$", "", file) in CASES}
    assert {f"{name}.json" for name in CASES} <= stored


def test_no_sentence_stands_where_words_are_compared() -> None:
    """Reports are compared but for prose: no stored string elsewhere ends as a sentence does, or is as long."""
    for path in EXPECTED.glob("*.json"):
        if not path.name.endswith(".params.json"):
            for text in _strings(json.loads(path.read_text(encoding="utf-8")).get("report", {})):
                assert not re.search(r"\w\w\.$", text), text
                assert text.count(" ") < 10, text


def test_numbers_and_names_are_not_left_out_with_the_sentences() -> None:
    """Only strings at the listed keys are replaced, and only time and version are left out."""
    report = {
        "created": "now",
        "anonkit_version": "0",
        "notes": ["one.", "two."],
        "rows": {"created": 3, "out": 4},
        "columns": [{"name": "a", "reason": "because", "detail": 5}],
        "reason": "kept",
    }
    assert without_sentences(report) == {
        "notes": ["…", "…"],
        "rows": {"created": 3, "out": 4},
        "columns": [{"name": "a", "reason": "…", "detail": 5}],
        "reason": "kept",
    }


@pytest.mark.parametrize("a", [[1, 2.0], [1.0, 2.5], [1, 2.5000001], [1, 2.5, 3], [1], "1"])
def test_a_change_of_any_figure_or_kind_is_found(a: object) -> None:
    """The comparison refuses another number, another length, and 1.0 for 1."""
    assert differences("x.json", json.dumps({"a": a}).encode(), b'{"a": [1, 2.5]}')


def test_a_change_of_a_key_or_of_its_place_is_found() -> None:
    """The comparison refuses another key, one more, and another order of keys."""
    for made in (b'{"b": 1, "c": 2}', b'{"a": 1}', b'{"a": 1, "c": 2, "d": 3}', b'{"c": 2, "a": 1}'):
        assert differences("x.json", made, b'{"a": 1, "c": 2}')


def test_the_last_bit_of_a_float_is_compared_in_params_alone() -> None:
    """A p-value may differ as processors do; params.json may not in a byte."""
    assert not differences("x.json", b'{"p": 0.8003683418068094}', b'{"p": 0.8003683418068072}')
    assert differences("x.params.json", b'{"p": 0.8003683418068094}', b'{"p": 0.8003683418068072}')
    assert differences("x.params.json", b'{"p": 1}', b'{"p":1}')


def _stored_methods() -> list[dict[str, str | None]]:
    files = [path for path in EXPECTED.glob("*--*.json") if not path.name.endswith(".params.json")]
    read = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    return [one["report"]["method"] for one in read if "report" in one]


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in _strings(one)]
    return [value] if isinstance(value, str) else []


def test_a_mixture_may_differ_by_units_and_rows_of_another_mixture_are_counted_alone() -> None:
    """Two thousandths of all shares may move; rows are compared to the letter where the mixture is the very same."""

    def outcome(fitted: str, rows: int, sha256: str, observed: float) -> bytes:
        data = [{"rows": rows, "first": [[1]], "sha256": sha256}]
        return json.dumps({"data": data, "report": {"observed": observed}, "fitted": fitted}).encode()

    def mixture(*shares: float, rows: int = 9) -> bytes:
        return json.dumps({"mixtures": [{"rows": rows, "shares": [list(shares)]}]}).encode()

    stored = mixture(11834, 9185)
    assert not differences("x.params.json", mixture(11874, 9145), stored)
    for other in (
        mixture(11884, 9135),
        mixture(11834, 9185, rows=8),
        mixture(11834.0, 9185),
        mixture(11834),
        mixture(11834, 9185, 0),
    ):
        assert differences("x.params.json", other, stored)
    assert not differences("x.json", outcome("a", 5, "s", 0.0501), outcome("b", 5, "t", 0.05019))
    assert differences("x.json", outcome("a", 5, "s", 0.0501), outcome("b", 6, "t", 0.0501))
    assert differences("x.json", outcome("a", 5, "s", 0.0501), outcome("b", 5, "t", 0.0601))
    assert differences("x.json", outcome("a", 5, "s", 0.0501), outcome("a", 5, "t", 0.0501))
