# SPDX-License-Identifier: Apache-2.0
"""The modules that each command imports: help must be instant, so it may not load anything heavy."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest
from pyarrow import csv

import anonkit
from anonkit.cli import COMMANDS
from anonkit.datasets import bank_customers, bank_customers_policy

HEAVY = {"numpy", "pyarrow", "pandas", "sklearn", "scipy", "duckdb", "jinja2", "cryptography"}


def imported(*args: str) -> set[str]:
    """Return the top-level packages that a command line imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "anonkit", *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr.splitlines()[-2:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}


@pytest.mark.parametrize("args", [(), ("--help",), ("--version",), ("completion", "zsh")])
def test_the_first_look_imports_nothing_heavy(args: tuple[str, ...]) -> None:
    """`anonkit --help` and its like load click and nothing heavy."""
    assert not imported(*args) & HEAVY


def test_the_process_for_forests_is_started_before_the_commands_are_imported() -> None:
    """It takes longest of all that a small table's release waits for, so that nothing comes before it."""
    script = (
        "import sys, anonkit.cli as cli\n"
        "def beside(args):\n"
        "    print(*(name for name in sys.modules if name.split('.')[0] in ('anonkit', 'click')))\n"
        "    sys.exit()\n"
        "cli._forests_beside = beside\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script, "--help"], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"anonkit", "anonkit.cli"}


def test_help_starts_without_the_process_for_forests() -> None:
    """Modules that only a release needs are imported by it: help is printed at once."""
    assert not imported("--help") & {"pickle", "subprocess", "tempfile"}


def test_the_list_of_commands_imports_none_of_them() -> None:
    """Their first lines are printed without them, and are what their own help begins with."""
    script = (
        "import sys; from anonkit.cli import anonkit; anonkit(['--help'], standalone_mode=False); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {f"anonkit.cli.{name}" for name in COMMANDS} & set(done.stdout.splitlines()[-1].split())
    for name, line in COMMANDS.items():
        command = import_module(f"anonkit.cli.{name}").command
        assert command.get_short_help_str(100) == line
        assert re.search(rf"^  {name} +{re.escape(line)}$", done.stdout, re.MULTILINE)


@pytest.mark.quick_cases("validate", "compare")
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "release"])
def test_the_help_of_a_command_imports_nothing_heavy(command: str) -> None:
    """The help of every command but `release` is as instant as `anonkit --help`."""
    assert not imported(command, "--help") & HEAVY


@pytest.mark.slow
def test_the_help_of_release_imports_declarations_only() -> None:
    """`release --help` reads the methods' parameters, and neither the engine nor the forest."""
    assert not imported("release", "--help") & (HEAVY - {"numpy", "pyarrow", "cryptography"})


@pytest.mark.slow
def test_commands_that_read_files_import_no_pandas(tmp_path: Path) -> None:
    """A table is read, released, recoded and checked without it, though pyarrow looks for it at the first array."""
    csv.write_csv(bank_customers(400, seed=1), tmp_path / "in.csv")
    names = ("in.csv", "out.parquet", "out.params.json", "next.parquet")
    source, out, params, other = (str(tmp_path / name) for name in names)
    told = ("--method", "datafly", "--no-target", "--no-utility", "--no-ledger")
    script = "import sys; from anonkit.cli import main\ntry: main()\nfinally: print('pandas' in sys.modules)"
    for words in (("release", *told, source, out), ("apply", "--no-ledger", params, source, other), ("validate", out)):
        done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "False", words[0]


@pytest.mark.slow
def test_whoever_validates_imports_no_machine_learning(tmp_path: Path) -> None:
    """A receiver recounts a release of each kind of promise without scikit-learn, scipy and pandas, from Python too."""
    table = bank_customers(200, seed=1)
    policy = bank_customers_policy()
    releases = {"mondrian": {"k": 5}, "rr": {"epsilon": 4.0}, "ppnb": {"p_keep": 0.5}, "dp-nb": {"epsilon": 4.0}}
    paths = [str(tmp_path / f"{method}.parquet") for method in releases]
    for (method, parameters), path in zip(releases.items(), paths, strict=True):
        anonkit.release(table, method=method, policy=policy, output=path, utility=False, ledger=None, **parameters)
    said = "print({name.split('.')[0] for name in sys.modules} & {'sklearn', 'scipy', 'pandas', 'matplotlib'})"
    validates = {
        "from anonkit.cli import anonkit": "anonkit(['validate', '--quiet', path], standalone_mode=False)",
        "import anonkit": "assert anonkit.validate(path).passed",
    }
    for first, each in validates.items():
        script = f"import sys\n{first}\nfor path in sys.argv[1:]:\n    {each}\n{said}"
        done = subprocess.run([sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "set()", first


def test_other_threads_find_pandas_while_it_is_kept_out_of_one() -> None:
    """A finder of one thread refuses there alone."""
    from anonkit.utility.learning_process import BlockedImports

    here = BlockedImports(("pandas",), thread=threading.get_ident())
    with pytest.raises(ModuleNotFoundError):
        here.find_spec("pandas")
    with ThreadPoolExecutor(1) as other:
        assert other.submit(here.find_spec, "pandas").result() is None


@pytest.mark.slow
def test_a_data_frame_is_made_after_pyarrow_has_found_no_pandas() -> None:
    """Modules hidden from the first array can be imported afterwards, and finders are as before."""
    script = (
        "import sys\nfrom anonkit.pipeline.validating import without_pandas\n"
        "without_pandas()\nimport pyarrow as pa\ncolumn = pa.array([1, 2])\n"
        "kept_out = [finder for finder in sys.meta_path if type(finder).__name__ == 'BlockedImports']\n"
        "print(kept_out, 'pandas' in sys.modules, column.to_pandas().sum())\n"
        "print(pa.array(column.to_pandas().astype('category')).type)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] False 3", "dictionary<values=int64, indices=int8, ordered=0>"]


@pytest.mark.slow
def test_the_next_batch_is_recoded_without_training_models(tmp_path: Path) -> None:
    """`apply` loads no machine learning: the worth of a batch is not needed, and took longer than the recoding."""
    table = bank_customers(1_600, seed=1)
    csv.write_csv(table, tmp_path / "batch.csv")
    anonkit.release(table, method="mondrian", k=4, target="customer_value", output=tmp_path / "first.parquet")
    batch = [str(tmp_path / name) for name in ("first.params.json", "batch.csv", "next.parquet")]

    assert not imported("apply", *batch) & {"sklearn", "scipy"}
    report = anonkit.load(tmp_path / "next.parquet").report
    assert report["utility"]["prediction_of_target"] == "not measured"
    assert imported("apply", *batch, "--utility", "--force") >= {"sklearn"}
    assert anonkit.load(tmp_path / "next.parquet").report["utility"]["prediction_of_target"]["auc"] > 0.5


def test_the_installed_program_is_the_module() -> None:
    """`anonkit` and `python -m anonkit` are one program, under one name in the help."""
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="anonkit")
    from anonkit.cli import main

    assert script.load() is main
    done = subprocess.run([sys.executable, "-m", "anonkit", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: anonkit ")


@pytest.mark.slow
def test_a_release_without_utility_trains_no_models(tmp_path: Path) -> None:
    """`release --no-utility` loads no machine learning where the method needs none, and its report says so."""
    csv.write_csv(bank_customers(400, seed=1), tmp_path / "in.csv")
    words = [
        "--method",
        "datafly",
        "--target",
        "customer_value",
        "--no-ledger",
        "--owner-report",
        str(tmp_path / "own"),
    ]
    told = [*words, str(tmp_path / "in.csv"), str(tmp_path / "out.parquet")]

    assert not imported("release", "--no-utility", *told) & {"sklearn", "scipy"}
    assert anonkit.load(tmp_path / "out.parquet").report["utility"]["prediction_of_target"] == "not measured"
    owner = json.loads((tmp_path / "own" / "owner.report.json").read_text(encoding="utf-8"))
    assert "prediction_for_all_rows" not in json.dumps(owner)
