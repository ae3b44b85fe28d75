"""Releases as stages of DVC: what an experiment charges, what a cache brings back, what DVC deletes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages.blocks import blocks_of

pytestmark = pytest.mark.integrations
HERE = Path(__file__).parent
N_FILES = 5


class Project:
    """A repository of Git and DVC with the pipeline, and a ledger that is outside of it."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.folder, self.ledger = folder, folder.parent / "ledger.sqlite"
        bin_ = str(Path(sys.executable).parent)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ANONKIT_", "GIT_"))},
            "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(repository),
            "ANONKIT_LEDGER": str(self.ledger),
            "DVC_NO_ANALYTICS": "1",
            "DVC_GLOBAL_CONFIG_DIR": str(folder.parent / "global"),
            "DVC_SITE_CACHE_DIR": str(folder.parent / "site"),
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project."""
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=250
        )

    def must(self, *command: str) -> str:
        """Run a command that works, and return what it printed."""
        done = self.run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(self) -> None:
        """Commit everything that is not ignored."""
        self.must("git", "add", "-A")
        self.must("git", "-c", "user.name=owner", "-c", "user.email=owner@localhost", "commit", "-q", "-m", "change")

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text of a file."""
        text = (self.folder / file).read_text(encoding="utf-8")
        assert old in text
        (self.folder / file).write_text(text.replace(old, new), encoding="utf-8")

    def epsilon(self) -> float:
        """Return what the ledger has."""
        told = json.loads(self.must("anonkit", "ledger", "--ledger", str(self.ledger), "--json"))
        return float(sum(dataset["epsilon"] for dataset in told["datasets"]))

    def files(self) -> dict[str, str]:
        """Return the SHA-256 of every file of the release."""
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.folder / "out").glob("*")}


@pytest.fixture
def project(tmp_path: Path, repository: Path) -> Project:
    """A committed project that has not released yet."""
    made = Project(tmp_path / "project", repository)
    shutil.copytree(HERE.parent / "project", made.folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HERE / "project", made.folder, dirs_exist_ok=True)
    (made.folder / "customers.csv").write_text("\n".join(_table()) + "\n", encoding="utf-8")
    (made.folder / ".gitignore").write_text("/out\n__pycache__\n", encoding="utf-8")
    made.must("git", "init", "-q")
    made.must("dvc", "init", "--quiet")
    made.commit()
    return made


def _table() -> Iterator[str]:
    yield "age,region,bought"
    for at in range(120):
        yield f"{20 + at % 60},{('east', 'north', 'south', 'west')[at % 4]},{('no', 'yes')[at % 3 == 0]}"


def test_experiments_in_folders_of_their_own_charge_one_ledger_once(project: Project) -> None:
    """`dvc exp run --temp` throws its folder away; the second experiment finds the budget spent."""
    project.must("dvc", "exp", "run", "--temp", "--name", "first")
    assert project.epsilon() == 1.0
    project.edit("release.toml", "epsilon = 1.0", "epsilon = 0.5")
    done = project.run("dvc", "exp", "run", "--temp", "--name", "second")
    assert done.returncode != 0
    assert "budget" in done.stderr
    assert project.epsilon() == 1.0


def test_an_experiment_that_was_applied_is_used_again(project: Project) -> None:
    """Its release comes out of the cache, in the project and in the folder of the next experiment."""
    project.must("dvc", "exp", "run", "--temp", "--name", "first")
    project.must("dvc", "exp", "apply", "first")
    released = project.files()
    assert len(released) == N_FILES
    project.commit()
    project.edit("policy.toml", "budget = 1.0", "budget = 1.0 # a comment")
    project.must("dvc", "exp", "run", "--temp", "--name", "second")
    project.must("dvc", "repro", "--force")
    assert project.files() == released
    assert project.epsilon() == 1.0


def test_a_clone_brings_the_release_from_the_remote(project: Project, tmp_path: Path, repository: Path) -> None:
    """After `dvc pull` a forced run uses it again; without it the budget is spent."""
    project.must("dvc", "repro")
    project.must("dvc", "remote", "add", "-d", "store", str(tmp_path / "store"))
    project.must("dvc", "push", "--quiet")
    project.commit()
    project.must("git", "clone", "-q", ".", str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone", repository)
    refused = clone.run("dvc", "repro", "--force")
    assert refused.returncode != 0
    assert clone.files() == {}
    clone.must("dvc", "pull", "--quiet")
    clone.must("dvc", "repro", "--force")
    assert clone.files() == project.files()
    assert clone.epsilon() == 1.0


@pytest.mark.parametrize("persist", [True, False])
def test_an_edited_policy_leaves_the_old_release_where_the_output_persists(project: Project, persist: bool) -> None:
    """Without `persist` DVC deletes it before the stage is refused; `dvc checkout` brings it back."""
    if not persist:
        project.edit("dvc.yaml", "- out:\n          persist: true", "- out")
    project.must("dvc", "repro")
    released = project.files()
    assert len(released) == N_FILES
    project.edit("policy.toml", "[18, 90]", "[18, 99]")
    done = project.run("dvc", "repro")
    assert done.returncode != 0
    assert ("exists" in done.stderr) is persist
    assert project.files() == (released if persist else {})
    project.edit("policy.toml", "[18, 99]", "[18, 90]")
    project.must("dvc", "checkout", "--quiet")
    assert project.files() == released
    assert (project.run("dvc", "repro", "--force").returncode == 0) is persist  # it deletes before every run
    assert project.files() == (released if persist else {})
    assert project.epsilon() == 1.0


def test_the_example_runs(tmp_path: Path, repository: Path) -> None:
    """`dvc repro`, twice."""
    shutil.copytree(repository / "examples" / "pipelines", tmp_path / "pipelines")
    example = Project(tmp_path / "pipelines" / "dvc", repository)
    example.must("dvc", "init", "--no-scm", "--quiet")
    example.must("dvc", "repro")
    released = example.files()
    assert len(released) == N_FILES
    example.must("dvc", "repro", "--force")
    assert example.files() == released


def test_the_page_runs(project: Project) -> None:
    """The stages and the recipe of dvc.md as they are on the page; forced, the release is used again."""
    for one in blocks_of("docs/how-to/dvc.md"):
        assert one.file is not None, one.where
        (project.folder / one.file).write_text(one.text, encoding="utf-8")
    project.must("dvc", "repro")
    released = project.files()
    assert len(released) == N_FILES
    project.must("dvc", "repro", "--force")
    assert project.files() == released
    assert project.epsilon() == 1.0
