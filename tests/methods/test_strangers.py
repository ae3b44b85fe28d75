"""examples/strangers: four methods of another package, installed and taken from release to report."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import anonkit
from anonkit.cli import anonkit as program
from anonkit.cli import commands
from anonkit.cli.boundary import run
from anonkit.cli.commands import declared_parameters
from anonkit.errors import ParameterError
from anonkit.methods import method_class, method_names

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "strangers"
MOST_LINES = {"joint_histogram": 140, "quantile_table": 90, "biased_coin": 90, "lock_step": 80}
"""Of each method's one file."""
METHODS: Mapping[str, Mapping[str, Any]] = {
    "joint-histogram": {"epsilon": 2.0},
    "quantile-table": {"epsilon": 2.0},
    "biased-coin": {"epsilon": 4.0},
    "lock-step": {"k": 5},
}
NOISY = tuple(name for name in METHODS if name != "lock-step")
POLICY = """
[columns]
age = { role = "quasi_identifier", bounds = [18, 80] }
sex = { role = "quasi_identifier", categories = ["F", "M"] }
job = { role = "quasi_identifier", categories = ["a", "b", "c"] }
y = { role = "target", categories = ["no", "yes"] }
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as pip would install it: its modules, and the entry points of its metadata."""
    folder = tmp_path_factory.mktemp("strangers") / "site"
    shutil.copytree(PACKAGE / "src", folder, ignore=shutil.ignore_patterns("__pycache__"))
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = folder / "anonkit_strangers-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    lines = [f"{name} = {place}" for name, place in project["entry-points"]["anonkit.methods"].items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[anonkit.methods]", *lines, ""]))
    return folder


@pytest.mark.slow
def test_pip_installs_the_same_modules_and_entry_points(site: Path, tmp_path: Path) -> None:
    """pip installs of the package what the other tests create by hand."""
    folder = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
         "--disable-pip-version-check", "--target", str(folder), str(PACKAGE)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for pattern in ("anonkit_strangers/*.py", "*.dist-info/entry_points.txt"):
        lines = [
            sorted("\n".join(path.read_text() for path in place.glob(pattern)).split("\n")) for place in (folder, site)
        ]
        assert [line for line in lines[0] if line] == [line for line in lines[1] if line] != []


def _forget_methods() -> None:
    for read_once in (declared_parameters, commands._options):
        read_once.cache_clear()


@pytest.fixture
def _installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the methods be known during a test, and forgotten afterwards: the command line reads once which there are."""
    monkeypatch.syspath_prepend(str(site))
    _forget_methods()
    yield
    monkeypatch.undo()
    for module in [name for name in sys.modules if name.startswith("anonkit_strangers")]:
        del sys.modules[module]
    _forget_methods()


def _people() -> pa.Table:
    """Return 400 people."""
    numbers = range(400)
    return pa.table(
        {
            "age": [18 + (at * 37) % 62 for at in numbers],
            "sex": ["FM"[at * at % 3 % 2] for at in numbers],
            "job": ["abc"[at * 7 % 3] for at in numbers],
            "y": ["yes" if (at * 37) % 62 > 30 else "no" for at in numbers],
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table and its policy, in which commands are typed."""
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(_people(), "people.csv")
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def _typed(line: str) -> int:
    return run(program, line.split(), "anonkit")


def _released(name: str) -> str:
    """Release the table by a method and return the name of the data file."""
    options = " ".join(f"--{key} {value:g}" for key, value in METHODS[name].items())
    line = f"release --method {name} {options} --policy policy.toml --dataset people --budget 100 --ledger here.ledger"
    assert _typed(f"{line} people.csv {name}.parquet") == 0, name
    return f"{name}.parquet"


def test_each_method_is_one_short_file() -> None:
    """No line of a method occurs anywhere else."""
    for module, most in MOST_LINES.items():
        text = (PACKAGE / "src" / "anonkit_strangers" / f"{module}.py").read_text(encoding="utf-8")
        assert len(text.splitlines()) < most, module


def test_the_page_shows_the_file_of_the_package() -> None:
    """The code block of the page is the method that the tests install, to the letter."""
    page = (ROOT / "docs" / "how-to" / "add-a-noise-method.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```python\n# joint_histogram.py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    text = (PACKAGE / "src" / "anonkit_strangers" / "joint_histogram.py").read_text(encoding="utf-8")

    assert text.partition("\n")[2] == shown


@pytest.mark.quick_cases("joint-histogram", "lock-step")
@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("name", METHODS)
def test_a_stranger_is_released_booked_explained_and_validated_without_its_package(
    name: str, site: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of an owner, then those of a reader who has the files alone."""
    assert name in method_names()
    assert method_class(name).name == name
    data = _released(name)
    capsys.readouterr()
    assert _typed("ledger --ledger here.ledger --json") == 0
    ledger = capsys.readouterr().out
    assert name in ledger or name == "lock-step"  # a k-anonymous release is compared with others, and costs nothing
    page = data.replace(".parquet", ".report.html")
    if name in ("joint-histogram", "quantile-table"):
        text = Path(page).read_text(encoding="utf-8")
        assert "Draws of noise, and how far each reaches" in text
        assert "Within 95 percent" in text

    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(site)])
    _forget_methods()
    assert name not in method_names()
    assert _typed(f"validate {data} --json") == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True


@pytest.mark.slow
@pytest.mark.usefixtures("_installed")
def test_a_dry_run_tells_how_far_the_noise_of_a_stranger_reaches(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is spent, from simulated rows."""
    line = "release --method joint-histogram --epsilon 2 --policy policy.toml --no-ledger --dry-run --json"
    assert _typed(f"{line} people.csv out.parquet") == 0
    noise = json.loads(capsys.readouterr().out)["foreseen"]["noise"]

    assert [table["table"] for table in noise] == ["classes", "cells"]
    assert noise[1]["cells"] == 5 * 3 * 4 * 2


@pytest.mark.usefixtures("_installed")
def test_the_epsilon_of_a_stranger_is_audited(folder: Path) -> None:
    """The mechanism is run again on small tables, and its epsilon is not refuted."""
    audited = anonkit.audit(_released("joint-histogram"), "people.csv", attacks=10, runs=20)
    assert audited.epsilon is not None
    assert 0 <= audited.epsilon.lower_bound <= audited.epsilon.claimed


@pytest.mark.slow
@pytest.mark.usefixtures("_installed")
def test_rows_of_a_stranger_are_compared(folder: Path) -> None:
    """Models learn from its rows."""
    compared = anonkit.compare(
        "people.csv", methods=["joint-histogram"], epsilon=[2.0], policy="policy.toml", attacks=10
    )
    (point,) = compared.points
    assert (point.method, point.refused) == ("joint-histogram", None)


@pytest.mark.usefixtures("_installed")
def test_figures_without_rows_are_neither_audited_compared_nor_reconstructed(folder: Path) -> None:
    """Each says that there are no rows."""
    data = _released("quantile-table")
    with pytest.raises(ParameterError, match="no rows of people"):
        anonkit.audit(data, "people.csv")
    with pytest.raises(ParameterError, match="models are compared on rows"):
        anonkit.compare("people.csv", methods=["quantile-table"], policy="policy.toml")
    with pytest.raises(ParameterError, match="figures and no rows"):
        anonkit.reconstruct(data)
