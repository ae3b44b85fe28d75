"""Releases as rules of Snakemake: what it deletes, and what keeps it from that."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages.blocks import block, blocks_of

pytestmark = pytest.mark.integrations
HERE = Path(__file__).parent
N_FILES = 5


class Project:
    """A folder with the workflow, and a ledger that is outside of it."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANONKIT_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(repository),
            "ANONKIT_LEDGER": str(folder.parent / "ledger.sqlite"),
            "XDG_CACHE_HOME": str(folder.parent / "cache"),
        }

    def run(self, *more: str, **environment: str) -> tuple[int, str]:
        """Run the workflow; return its exit code and what it printed."""
        done = subprocess.run(
            ["snakemake", "--cores", "1", *more], cwd=self.folder, env=self.environment | environment,
            capture_output=True, text=True, check=False, timeout=250,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text of a file."""
        text = (self.folder / file).read_text(encoding="utf-8")
        assert old in text
        (self.folder / file).write_text(text.replace(old, new), encoding="utf-8")

    def files(self) -> dict[str, str]:
        """Return the SHA-256 of every file of the release."""
        found = [path for path in (self.folder / "out").glob("*") if not path.name.startswith(".")]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.fixture
def project(tmp_path: Path, repository: Path) -> Project:
    """A project that has not released yet."""
    made = Project(tmp_path / "project", repository)
    shutil.copytree(HERE.parent / "project", made.folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HERE / "project", made.folder, dirs_exist_ok=True)
    rows = [f"{20 + at % 60},{('east', 'north')[at % 2]},{('no', 'yes')[at % 3 == 0]}" for at in range(120)]
    (made.folder / "customers.csv").write_text("\n".join(["age,region,bought", *rows]) + "\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("update", [True, False])
def test_an_edited_policy_leaves_the_old_release_where_the_output_is_an_update(project: Project, update: bool) -> None:
    """Without `update` Snakemake deletes it before the rule is refused."""
    if not update:
        project.edit("Snakefile", 'update(directory("out"))', 'directory("out")')
    assert project.run()[0] == 0
    released = project.files()
    assert len(released) == N_FILES
    project.edit("policy.toml", "[18, 90]", "[18, 99]")
    code, said = project.run()
    assert code != 0
    assert ("exists" in said) is update
    assert project.files() == (released if update else {})


def test_a_refusal_is_said_once(project: Project) -> None:
    """The release that Snakemake put back counts as new to it; `--forcerun` is refused again, and it stays."""
    assert project.run()[0] == 0
    released = project.files()
    project.edit("policy.toml", "[18, 90]", "[18, 99]")
    assert project.run()[0] != 0
    code, said = project.run()
    assert (code, "exists" in said) == (0, False)
    code, said = project.run("--forcerun", "release")
    assert code != 0
    assert "exists" in said
    assert project.files() == released


def test_a_rule_that_is_forced_uses_its_release_again(project: Project) -> None:
    """`--forceall` runs everything, and draws nothing."""
    assert project.run()[0] == 0
    released = project.files()
    code, said = project.run("--forceall")
    assert (code, project.files()) == (0, released), said


@pytest.mark.parametrize("keep", [True, False])
def test_a_failure_after_the_release_leaves_it_where_what_is_incomplete_is_kept(
    project: Project, tmp_path: Path, keep: bool
) -> None:
    """Without `keep-incomplete` Snakemake deletes it, and its budget is spent."""
    if not keep:
        shutil.rmtree(project.folder / "profiles")
    code, said = project.run(FAIL_ONCE=str(tmp_path / "failed.json"))
    assert (tmp_path / "failed.json").exists()
    assert (code == 0) is keep, said
    assert len(project.files()) == (N_FILES if keep else 0)
    assert ("a second release is made only with your consent" in said) is not keep


def test_the_example_runs(tmp_path: Path, repository: Path) -> None:
    """`snakemake --cores 1`, and again by force."""
    shutil.copytree(repository / "examples" / "pipelines", tmp_path / "pipelines")
    example = Project(tmp_path / "pipelines" / "snakemake", repository)
    assert example.run()[0] == 0
    released = example.files()
    assert len(released) == N_FILES
    assert example.run("--forceall")[0] == 0
    assert example.files() == released


def test_the_page_runs(project: Project) -> None:
    """The workflow and the profile of snakemake.md as they are on the page, on the recipe of dvc.md; again by force."""
    shutil.rmtree(project.folder / "profiles")
    for one in (*blocks_of("docs/how-to/snakemake.md"), block("docs/how-to/dvc.md", "# customers.toml")):
        assert one.file is not None, one.where
        (project.folder / one.file).parent.mkdir(parents=True, exist_ok=True)
        (project.folder / one.file).write_text(one.text, encoding="utf-8")
    code, said = project.run()
    assert code == 0, said
    released = project.files()
    assert len(released) == N_FILES
    assert (project.folder / "validated").exists()
    code, said = project.run("--forceall")
    assert (code, project.files()) == (0, released), said
