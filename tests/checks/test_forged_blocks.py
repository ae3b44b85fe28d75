"""Forgeries of what all promises share: sentences, method, randomness, verification, descriptor, page, metadata.

Each table names what is done and the check that refuses it; docs/how-to/validate.md has it in words.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from checks.forgeries import ANONYMOUS, NOISY, SMALL, Edit, Files, forged, over, refused, verdict
from checks.forging import SEEDED, at, both, checked, say, stated_anew, without_following

import anonkit


@pytest.mark.parametrize("method", SMALL)
def test_rewriting_alone_is_no_forgery(releases: dict[str, Files], method: str, tmp_path: Path) -> None:
    """A release whose files and hashes are rewritten unchanged validates: the refusals below are about content."""
    assert verdict(forged(releases[method], lambda files: None, tmp_path)) == (0, ())


# --- older formats ---------------------------------------------------------------------------------------------------


def _older(files: Files, *parts: str) -> None:
    for part in parts:
        document = getattr(files, part)
        document["format"] = document["format"].replace("/2", "/1")


@pytest.mark.parametrize("method", SMALL)
@pytest.mark.parametrize("parts", [("report",), ("manifest",), ("report", "manifest")], ids="+".join)
def test_an_older_format_is_neither_green_nor_forged(
    releases: dict[str, Files], method: str, parts: tuple[str, ...], tmp_path: Path
) -> None:
    """A release written before these checks is not judged: exit code 3, with the reason."""
    code, said = verdict(forged(releases[method], lambda files: _older(files, *parts), tmp_path))

    assert code == 3
    assert "written by an older format" in said[0]


@pytest.mark.quick_cases("greedy-hamdist", "rfka")
@pytest.mark.parametrize("method", ANONYMOUS)
def test_the_next_batch_is_recoded_by_an_older_release(
    releases: dict[str, Files], method: str, tmp_path: Path, small_customers: pa.Table
) -> None:
    """A recoding is public and its result is counted anew: `apply` reads older params, and writes today's."""
    older = forged(releases[method], lambda files: _older(files, "report", "manifest", "params"), tmp_path)
    output = tmp_path / "next" / "out.parquet"
    output.parent.mkdir()
    anonkit.apply(older, small_customers, output=output, ledger=None)

    assert anonkit.load(older).report["format"] == "anonkit-report/1"
    assert verdict(output) == (0, ())


def seeded_elsewhere(files: Files) -> None:
    """Let params and data say that the release was seeded."""
    files.params["randomness"] = files.manifest["randomness"] = SEEDED


def extra_column(files: Files) -> None:
    """Give the data a second column of one name."""
    files.table = files.table.append_column(files.table.column_names[0], files.table.column(0))


BASES = {"checked on output": "by construction", "by construction": "checked on output"}
EVERY: dict[str, tuple[Edit, str]] = {
    "statement stronger": (say(statement="Nobody in this table can be identified, ever."), "promise"),
    "formal sentence": (say(formal="Anonymous data in the sense of the law."), "promise"),
    "nothing is left unprotected": (say(not_protected=["Nothing."]), "promise"),
    "one limit less": (at("report", "guarantee", "not_protected", to=lambda said: said[1:]), "promise"),
    "unit is a person": (say(unit="one person"), "promise"),
    "adjacency": (say(adjacency="any two tables"), "promise|adjacency"),
    "basis": (
        at("report", "guarantee", "basis", to=lambda basis: BASES[basis]),
        "promise",
    ),
    "an assumption less": (at("report", "guarantee", "assumptions", to=lambda said: said[:-1]), "assumptions"),
    "an assumption more": (
        at("report", "guarantee", "assumptions", to=lambda said: [*said, "Approved."]),
        "assumptions",
    ),
    "an assumption less in params": (at("params", "assumptions", to=lambda said: said[:-1]), "assumptions"),
    "method renamed in the report": (at("report", "method", "name", to="laplace"), "method"),
    "method renamed in params": (at("params", "method", to="laplace"), "method"),
    "method renamed in the data": (at("manifest", "method", to="laplace"), "method"),
    "preset": (at("report", "method", "preset", to="paper"), "method"),
    "another parameter of the method": (
        at("report", "method", "parameters", to=lambda told: {**told, "strict": True}),
        "method",
    ),
    "version": (at("report", "anonkit_version", to="9.9.9"), "method"),
    "seeded, the report alone says secure": (seeded_elsewhere, "randomness"),
    "seeded, the data alone say so": (at("manifest", "randomness", to=SEEDED), "randomness"),
    "seeded, params alone say so": (at("params", "randomness", to=SEEDED), "randomness"),
    "the report alone says seeded": (at("report", "randomness", to=SEEDED), "randomness"),
    "a check less": (at("report", "verification", "checks", to=lambda made: made[1:]), "verification"),
    "a check more": (
        at(
            "report", "verification", "checks",
            to=lambda made: [*made, {"name": "audited", "passed": True, "observed": 1, "required": 1}],
        ),
        "verification",
    ),
    "a check that never failed": (checked("identifiers_absent", passed=None), "verification"),
    "a check twice": (at("report", "verification", "checks", to=lambda made: [*made, made[0]]), "verification"),
    "what a check found": (checked("identifiers_absent", observed=1, required=1), "verification"),
    "rows released": (at("report", "rows", "out", to=lambda rows: rows + 1), "rows"),
    "a delta": (at("report", "budget", "delta", to=1e-6), "budget"),
    "another epsilon in the budget": (at("report", "budget", "epsilon", to=0.01), "budget"),
    "a role in the report": (at("report", "columns", 0, "role", to="insensitive"), "treatment"),
    "descriptor: statement": (at("descriptor", "description", to="Anonymous."), "descriptor"),
    "descriptor: kind": (at("descriptor", "anonkit", "guarantee", "kind", to="anonymous"), "descriptor"),
    "descriptor: parameters": (
        at("descriptor", "anonkit", "guarantee", "parameters", to=lambda told: {**told, "k": 100, "epsilon": 0.1}),
        "descriptor",
    ),
    "descriptor: basis": (at("descriptor", "anonkit", "guarantee", "basis", to="audited"), "descriptor"),
    "descriptor: method": (at("descriptor", "anonkit", "method", to="laplace"), "descriptor"),
    "descriptor: randomness": (at("descriptor", "anonkit", "randomness", to=SEEDED), "descriptor"),
    "descriptor: another word": (
        at("descriptor", "anonkit", to=lambda told: {**told, "certified": True}),
        "descriptor",
    ),
    "descriptor: another block": (lambda files: files.descriptor.update(certificate="A"), "descriptor"),
    "descriptor: title": (at("descriptor", "title", to="Anonymous data"), "descriptor"),
    "descriptor: created": (at("descriptor", "created", to="2001-01-01T00:00:00+00:00"), "descriptor"),
    "descriptor: a licence": (
        lambda files: files.descriptor.update(licenses=[{"name": "CC0-1.0", "title": "CC0-1.0"}]),
        "descriptor",
    ),
    "descriptor: another name of the licence": (
        both(
            lambda files: files.manifest.update(license="CC BY 4.0"),
            lambda files: files.descriptor.update(licenses=[{"name": "CC0-1.0", "title": "CC BY 4.0"}]),
        ),
        "descriptor",
    ),
    "descriptor: role": (
        at("descriptor", "resources", 0, "schema", "fields", 0, "anonkit:role", to="insensitive"),
        "descriptor",
    ),
    "descriptor: action": (
        at("descriptor", "resources", 0, "schema", "fields", 0, "anonkit:action", to="encrypted"),
        "descriptor",
    ),
    "descriptor: type": (at("descriptor", "resources", 0, "schema", "fields", 0, "type", to="geojson"), "descriptor"),
    "descriptor: a column less": (
        at("descriptor", "resources", 0, "schema", "fields", to=lambda fields: fields[1:]),
        "descriptor",
    ),
    "descriptor: a description of a column": (
        at("descriptor", "resources", 0, "schema", "fields", 0, to=lambda one: {**one, "description": "salted hash"}),
        "descriptor",
    ),
    "descriptor: a resource more": (
        at("descriptor", "resources", to=lambda all_: [*all_, {**all_[2], "name": "proof"}]),
        "descriptor",
    ),
    "descriptor: the report twice": (at("descriptor", "resources", to=lambda all_: [*all_, all_[2]]), "descriptor"),
    "descriptor: a path elsewhere": (
        at("descriptor", "resources", 2, "path", to="https://example.org/out.report.json"),
        "descriptor",
    ),
    "descriptor: data elsewhere": (at("descriptor", "resources", 0, "path", to="raw.parquet"), "descriptor"),
    "page: a word": (lambda files: setattr(files, "page", files.page.replace("not ", "", 1)), "page"),
    "page: another page": (lambda files: setattr(files, "page", "<p>All is well.</p>"), "page"),
    "page of another report": (without_following(at("report", "dataset", to="census")), "page"),
    "statistics in the metadata": (lambda files: files.metadata.update(pandas=b"{}"), "metadata"),
    "a word more in the manifest": (lambda files: files.manifest.update(certified=True), "metadata"),
    "a licence in the manifest": (lambda files: files.manifest.update(license="CC0-1.0"), "descriptor"),
    "no hashes in the data": (lambda files: files.manifest.update(sidecars={}), "manifest"),
    "a column twice": (extra_column, "columns"),
}  # fmt: skip
"""Edits of a release of any kind, and the check that refuses each."""


def no_condition(files: Files) -> None:
    """Let the promise say that all domains were declared."""
    files.report["guarantee"]["parameters"]["domains_from_data"] = []


def unmarked(files: Files) -> None:
    """Take the marks off the columns."""
    for one in files.report["columns"]:
        one.pop("domain_from_data", None)


CONDITIONAL: dict[str, tuple[Edit, str]] = {
    "no condition in the promise": (stated_anew(no_condition), "conditions"),
    "a condition on fewer columns": (
        stated_anew(at("report", "guarantee", "parameters", "domains_from_data", to=lambda names: names[1:])),
        "conditions",
    ),
    "no condition in params": (lambda files: files.params.pop("conditions"), "conditions"),
    "no condition in the data": (lambda files: files.manifest.pop("conditions"), "conditions"),
    "no condition in the data and params": (
        lambda files: (files.params.pop("conditions"), files.manifest.pop("conditions")),
        "conditions",
    ),
    "no condition among the assumptions": (
        both(
            at("report", "guarantee", "assumptions", to=lambda said: said[1:]),
            lambda files: files.params.update(assumptions=files.params.get("assumptions", [])[1:]),
        ),
        "conditions",
    ),
    "columns no longer marked": (unmarked, "conditions"),
    "another condition": (at("params", "conditions", to=["None."]), "conditions"),
}


@pytest.mark.parametrize(("forgery", "method"), over(EVERY, tuple(SMALL)))
def test_a_forged_release_of_any_kind_is_refused(
    releases: dict[str, Files], method: str, forgery: str, tmp_path: Path
) -> None:
    """Facts that are in two places, or follow from the parameters, are compared."""
    refused(releases[method], EVERY[forgery], tmp_path)


@pytest.mark.parametrize(("forgery", "method"), over(CONDITIONAL, NOISY))
def test_a_condition_cannot_be_taken_away_in_one_place(
    releases: dict[str, Files], method: str, forgery: str, tmp_path: Path
) -> None:
    """Domains read from the data are said in promise, assumptions, params, data and columns."""
    refused(releases[method], CONDITIONAL[forgery], tmp_path)


@pytest.mark.parametrize("method", SMALL)
@pytest.mark.parametrize("suffix", ["params.json", "report.json"])
def test_a_key_that_stands_twice_is_refused(
    releases: dict[str, Files], method: str, suffix: str, tmp_path: Path
) -> None:
    """Two readers of one file would read two promises: such a file is none of anonkit's."""

    def edit(files: Files) -> None:
        document = files.params if suffix == "params.json" else files.report
        files.raw[suffix] = '{"randomness": "seeded: not for release", ' + json.dumps(document)[1:]

    assert verdict(forged(releases[method], edit, tmp_path))[0] == 3
