"""The GitHub action: what it annotates, what it shows, and that its steps run as they are in action.yml."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pages.blocks import blocks_of

import anonkit
from anonkit.integrations.github_action import _command, main, releases_of


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, small_customers: pa.Table) -> Path:
    """A folder with two releases: a file, and a folder of parts."""
    folder = tmp_path_factory.mktemp("published")
    for name, more in (("one", {}), ("two", {"part_rows": 100})):
        anonkit.release(small_customers, method="mondrian", k=5, output=folder / f"{name}.parquet", ledger=None, **more)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> dict[str, str]:
    """The files of a run that a step adds to."""
    return {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_OUTPUT": str(tmp_path / "output.txt")}


def _edited(folder: Path, name: str = "one") -> None:
    report = folder / f"{name}.report.json"
    document = json.loads(report.read_text(encoding="utf-8"))
    document["dataset"] = "Zanzibar"
    report.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.slow
def test_a_pattern_finds_releases_and_nothing_else(published: Path) -> None:
    """Files and folders of data with a descriptor beside them, each once; a plain name is never passed over."""
    (published / "raw.parquet").write_bytes(b"no release")
    found = releases_of([f"{published}/**/*.parquet", f"{published}/one.parquet", "absent.parquet"])
    assert found == [f"{published}/one.parquet", f"{published}/two.parquet", "absent.parquet"]


@pytest.mark.slow
def test_valid_releases_are_shown(published: Path, run: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """No annotation; the page of the run has checks and promise of each; the pages are named for the artifact."""
    assert main(["--k=5", "--l=", "--t=", "--signed-by=", "--", f"{published}/*.parquet"], run) == 0
    assert "::" not in capsys.readouterr().out
    summary = Path(run["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert summary.count("k\\_anonymity") + summary.count("k-anonymity") >= 2
    output = Path(run["GITHUB_OUTPUT"]).read_text(encoding="utf-8").splitlines()
    assert output == [
        "pages<<anonkit-pages", f"{published}/one.report.html", f"{published}/two.report.html", "anonkit-pages"
    ]  # fmt: skip


def test_a_broken_release_is_annotated(
    published: Path, run: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The failed check names its file, the exit code is that of `anonkit validate`, its own words are not shown."""
    folder = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(published), str(folder)], check=True)
    _edited(folder)
    assert main(["--", f"{folder}/*.parquet"], run) == 1
    lines = capsys.readouterr().out.splitlines()
    annotations = [line for line in lines if line.startswith("::")]
    marked = f"::error file={folder}/one.parquet,title=anonkit%3A the promise does not hold::"
    assert all(line.startswith(marked) for line in annotations)
    assert any("hash:report" in line for line in annotations)
    assert f"{folder}/two.parquet: valid" in "\n".join(lines)
    summary = Path(run["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert "**Not valid:**" in summary
    assert "Zanzibar" not in summary
    assert f"{folder}/one.report.html" not in Path(run["GITHUB_OUTPUT"]).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--k=50"], 1, "::error"),
        (["--l=2"], 3, "could not check l_diversity"),
        (["--signed-by=absent.pem"], 3, "absent.pem"),
    ],
)
def test_what_is_asked_and_does_not_hold_fails(
    arguments: list[str], code: int, said: str, published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """More than is promised, what cannot be checked, a key that is not there: never green."""
    assert main([*arguments, "--", f"{published}/one.parquet"], {}) == code
    assert said in capsys.readouterr().out


def test_no_release_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pattern that finds nothing, and a name that is not there, fail the step."""
    assert main(["--", f"{tmp_path}/*.parquet"], {}) == 2
    assert "no release was found" in capsys.readouterr().out
    assert main(["--", f"{tmp_path}/absent.parquet"], {}) == 3


def test_an_annotation_is_one_command() -> None:
    """Text from a release ends no command and begins none."""
    told = _command("error", "a\n::set-output name=x::y%\r", file="a,b:c\n::d")
    assert told == "::error file=a%2Cb%3Ac%0A%3A%3Ad::a%0A::set-output name=x::y%25"
    assert "\n" not in told


def test_a_name_of_a_folder_writes_no_output_of_the_step(published: Path, run: dict[str, str], tmp_path: Path) -> None:
    """A folder's name that would end the list of pages and begin another output is left out of the list."""
    folder = tmp_path / "a\nanonkit-pages\nchosen=1"
    folder.mkdir()
    anonkit.load(published / "one.parquet").save(folder / "one.parquet")
    main([f"{published}/one.parquet", f"{folder}/one.parquet", f"{tmp_path}/a*/*.parquet"], run)
    output = Path(run["GITHUB_OUTPUT"]).read_text(encoding="utf-8").splitlines()
    assert output == ["pages<<anonkit-pages", f"{published}/one.report.html", "anonkit-pages"]


@pytest.mark.slow
def test_the_steps_of_the_action_run(published: Path, run: dict[str, str], tmp_path: Path, repository: Path) -> None:
    """The shell of the validating step, with the inputs as the runner sets them, in bash."""
    action: dict[str, Any] = yaml.safe_load((repository / ".github/actions/validate/action.yml").read_text("utf-8"))
    steps = {step.get("id", step.get("name")): step for step in action["runs"]["steps"]}
    step = steps["validate"]
    assert all(re.fullmatch(r"\$\{\{ inputs\.[a-z-]+ \}\}", value) for value in step["env"].values())
    assert "${{" not in step["run"]  # an input in the text of a script would be run
    python = tmp_path / "anonkit" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    given = {"releases": f"{published}/one.parquet\n{published}/two.parquet\n", "k": "5"}
    names = {name: value[len("${{ inputs.") : -len(" }}")] for name, value in step["env"].items()}
    assert set(names.values()) <= set(action["inputs"])
    environment = {
        **os.environ,
        **run,
        "RUNNER_TEMP": str(tmp_path),
        "PYTHONPATH": str(repository),
        **{name: given.get(value, action["inputs"][value].get("default", "")) for name, value in names.items()},
    }
    for k, code in (("5", 0), ("6", 1)):
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={**environment, "K": k},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr


def test_the_workflow_of_the_page_calls_the_action(published: Path, run: dict[str, str], repository: Path) -> None:
    """The step of github-action.md runs with the package alone, its pattern finds releases, its rights are few."""
    (page,) = blocks_of("docs/how-to/github-action.md")
    workflow = yaml.safe_load(page.text)
    (job,) = workflow["jobs"].values()
    (step,) = (step for step in job["steps"] if step.get("id") == "validate")
    words = shlex.split(step["run"])
    assert words[:3] == ["python", "-m", "anonkit.integrations.github_action"]
    pattern = words[-1].replace("releases/", f"{published}/")
    assert releases_of([pattern]) == [f"{published}/one.parquet", f"{published}/two.parquet"]
    arguments = [word for word in words[3:-1] if not word.startswith("--signed-by=")]
    assert main([*arguments, pattern], run) == 0
    assert "steps.validate.outputs.pages" in str(job["steps"][-1])
    assert workflow["permissions"] == {"contents": "read"}
    action = repository / ".github" / "actions" / "validate" / "action.yml"
    same = [one["uses"] for one in yaml.safe_load(action.read_text(encoding="utf-8"))["runs"]["steps"] if "uses" in one]
    assert {one["uses"] for one in job["steps"] if "uses" in one} == {"actions/checkout@v6", *same}
