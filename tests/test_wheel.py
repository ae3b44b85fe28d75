"""The distributed files: the wheel and the source distribution hold what they need, and run."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def built(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)],
        cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def _of_the_package(repository: Path) -> set[str]:
    """Every file of anonkit/ that is no cache."""
    paths = (repository / "anonkit").rglob("*")
    return {str(path.relative_to(repository)) for path in paths if path.is_file() and path.suffix != ".pyc"}


def test_the_wheel_holds_the_whole_package_and_nothing_else(repository: Path, built: Path) -> None:
    """Code, types, schemas and templates; no test, no recipe, no file of a release."""
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == _of_the_package(repository)
    assert {
        "anonkit/py.typed",
        "anonkit/report/schemas/report.schema.json",
        "anonkit/report/schemas/promises/none.schema.json",
    } <= names
    more = {"report/templates/report.html.j2", "integrations/dbt_project/dbt_project.yml"}
    more |= {f"integrations/dbt_project/macros/{name}.sql" for name in ("cells", "k_anonymous", "l_diverse", "t_close")}
    assert {name for name in names if not name.endswith(".py")} >= {f"anonkit/{name}" for name in more}


def test_the_source_distribution_can_be_tested(repository: Path, built: Path) -> None:
    """It holds the package, its tests, recipes, examples, pages, pins and the license."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames() if "/" in name}
    assert _of_the_package(repository) <= names
    whole = {"LICENSE", "CHANGELOG.md", "Makefile", "noxfile.py", "constraints.txt", "constraints-oldest.txt"}
    whole |= {"SECURITY.md", "tests/conftest.py", "docs/README.md", "recipes/bank-rfka.toml"}
    assert whole <= names


@pytest.mark.slow
def test_the_unpacked_wheel_releases_and_validates(built: Path, tmp_path: Path) -> None:
    """Away from the repository: the demo runs, and what it wrote passes."""
    (wheel,) = built.glob("*.whl")
    home = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(home)
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import anonkit; from anonkit.cli import main\n"
        "assert anonkit.__file__.startswith(sys.path[0]), anonkit.__file__\n"
        "main()"
    )
    for command in (["demo", "--folder", "out", "--rows", "1000", "--quiet"], ["validate", "out/release.parquet"]):
        done = subprocess.run(
            [sys.executable, "-I", "-c", code, str(home), *command],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
