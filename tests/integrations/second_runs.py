"""Second runs of every pipeline tool, for real, with the exit, the ε in the ledger and the files changed.

`python tests/integrations/second_runs.py [TOOL …]` prints the table, and fails when a cell is not what it must be. It
needs nothing itself; a tool is taken from the environment that `make test-integrations` made for it (or from
`--environments FOLDER`). A tool is a line of `TOOLS` and a folder `TOOL/project` with its pipeline, which releases by
`release.toml` beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE / "project"))

from fail_once import FAIL_ONCE, files_of  # noqa: E402 - the project of a pipeline is no package

N_FILES = 5
"""Files of a release."""
N_ROWS = 200
_SHOWN = 4000
"""Letters of what a run printed that are shown when it did not come out as it must."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """The command of a pipeline of a tool; in its texts `{project}` is the folder of the pipeline."""

    command: Sequence[str]
    """The first word is a program of the tool's environment."""
    prepare: Sequence[Sequence[str]] = ()
    """Commands that a fresh project needs once, before its first run."""
    folders: Sequence[str] = ()
    """Folders of a project that the tool wants to find there."""
    environment: Mapping[str, str] = field(default_factory=dict)
    distribution: str
    """The package whose version is printed."""
    retries: bool = True
    """True: the tool runs a failed step again by itself; else it is run again as its user would."""


TOOLS: dict[str, Tool] = {
    "dagster": Tool(
        command=("dagster", "asset", "materialize", "--select", "*", "-f", "pipeline.py"),
        folders=(".dagster",),
        environment={"DAGSTER_HOME": "{project}/.dagster", "DAGSTER_DISABLE_TELEMETRY": "1"},
        distribution="dagster",
    ),
    "airflow": Tool(
        command=("airflow", "dags", "test", "pipeline"),
        prepare=(("airflow", "db", "migrate"),),
        environment={
            "AIRFLOW_HOME": "{project}/.airflow",
            "AIRFLOW__CORE__DAGS_FOLDER": "{project}/dags",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
        },
        distribution="apache-airflow",
    ),
    "prefect": Tool(
        command=("python", "pipeline.py"),
        environment={
            "PREFECT_HOME": "{project}/.prefect",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
        },
        distribution="prefect",
    ),
    "dvc": Tool(
        command=("dvc", "repro"),
        prepare=(("dvc", "init", "--no-scm", "--quiet"),),
        environment={
            "DVC_NO_ANALYTICS": "1",
            "DVC_GLOBAL_CONFIG_DIR": "{project}/.dvc/global",
            "DVC_SITE_CACHE_DIR": "{project}/.dvc/site",
        },
        distribution="dvc",
        retries=False,
    ),
    "snakemake": Tool(
        command=("snakemake", "--cores", "1"),
        environment={"XDG_CACHE_HOME": "{project}/.cache"},
        distribution="snakemake",
    ),
    "dbt": Tool(
        command=("dbt", "build"),
        prepare=(("dbt", "deps"),),
        environment={
            "DBT_ANONKIT": str(REPOSITORY / "anonkit" / "integrations" / "dbt_project"),
            "DBT_PROFILES_DIR": "{project}",
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        },
        distribution="dbt-core",
        retries=False,
    ),
}


@dataclass(frozen=True)
class Cell:
    """The result of a run."""

    exit: int
    epsilon: float
    changed: int
    """Files of the release that are new, gone or different."""
    said: str = ""
    """The output of the run."""

    def __str__(self) -> str:
        return f"exit {self.exit}, ε {self.epsilon:g}, {self.changed} files"


EXPECTED: dict[str, tuple[str | None, float, int]] = {
    # what happened: why it is refused (None: it is not), ε in the ledger, files changed
    "first run": (None, 1.0, N_FILES),
    "second run": (None, 1.0, 0),
    "retry after failure": (None, 1.0, 0),
    "comment in the policy": (None, 1.0, 0),
    "policy edited": ("exists", 1.0, 0),
    "source changed": ("exists", 1.0, 0),
    "fresh machine": ("budget", 1.0, 0),
}
"""An existing release is used again; another one is refused, since its file is there or the budget of 1 is spent."""


def is_expected(what: str, cell: Cell) -> bool:
    """Return whether a run ended as it must."""
    refused, epsilon, changed = EXPECTED[what]
    came_out = cell.exit == 0 if refused is None else cell.exit != 0 and refused in cell.said
    return came_out and abs(cell.epsilon - epsilon) < 1e-9 and cell.changed == changed


class Bench:
    """A folder in which one tool runs: projects as a checkout makes them, and the ledgers that they share."""

    def __init__(self, name: str, folder: Path, environment: Path) -> None:
        self.name, self.tool, self.folder, self.environment = name, TOOLS[name], folder, environment

    def checkout(self, name: str) -> Path:
        """Return a project as a fresh checkout has it: policy, recipe, table and pipeline, and nothing else."""
        project = self.folder / name
        shutil.copytree(HERE / "project", project, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(HERE / self.name / "project", project, dirs_exist_ok=True)
        (project / "customers.csv").write_text("\n".join(_table()) + "\n", encoding="utf-8")
        for command in self.tool.prepare:
            self._call(command, project, self.folder / "unused.sqlite").check_returncode()
        for folder in self.tool.folders:
            (project / folder).mkdir()
        return project

    def run(self, project: Path, ledger: Path, *, fail_once: Path | None = None) -> Cell:
        """Run the pipeline, and again where a tool leaves that to its user; return what came of it."""
        before = files_of(project / "out")
        done = self._call(self.tool.command, project, ledger, fail_once)
        if fail_once is not None:
            if not self.tool.retries:
                done = self._call(self.tool.command, project, ledger, fail_once)
            before = (
                json.loads(fail_once.read_text(encoding="utf-8")) if fail_once.exists() else {"it did not fail": ""}
            )
        after = files_of(project / "out")
        changed = sum(before.get(file) != after.get(file) for file in before.keys() | after.keys())
        return Cell(done.returncode, self._epsilon(ledger), changed, done.stdout + done.stderr)

    def version(self) -> str:
        """Return the version of the tool."""
        code = f"from importlib.metadata import version; print(version({self.tool.distribution!r}))"
        return self._call(("python", "-c", code), self.folder, self.folder / "unused.sqlite").stdout.strip()

    def _epsilon(self, ledger: Path) -> float:
        """Return what the ledger has of the only dataset."""
        if not ledger.exists():
            return 0.0
        done = self._call(("anonkit", "ledger", "--ledger", str(ledger), "--json"), self.folder, ledger)
        done.check_returncode()
        return float(sum(dataset["epsilon"] or 0.0 for dataset in json.loads(done.stdout)["datasets"]))

    def _call(
        self, command: Sequence[str], project: Path, ledger: Path, fail_once: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        texts = {"project": str(project)}
        program, *arguments = (word.format_map(texts) for word in command)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANONKIT_")},
            **{name: value.format_map(texts) for name, value in self.tool.environment.items()},
            "PATH": f"{self.environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(project), str(REPOSITORY)]),
            "ANONKIT_LEDGER": str(ledger),
            **({} if fail_once is None else {FAIL_ONCE: str(fail_once)}),
        }
        return subprocess.run(
            [str(self.environment / "bin" / program), *arguments],
            cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=1200,
        )  # fmt: skip


def rows(bench: Bench) -> Iterator[tuple[str, Cell]]:
    """Yield what each run of a tool left behind."""
    ledgers = bench.folder / "shared"
    ledgers.mkdir()
    project, ledger = bench.checkout("machine"), ledgers / "ledger.sqlite"
    yield "first run", bench.run(project, ledger)
    yield "second run", bench.run(project, ledger)

    other = bench.folder / "other"
    other.mkdir()
    failing = bench.checkout("failing")
    yield "retry after failure", bench.run(failing, other / "ledger.sqlite", fail_once=other / "failed.json")

    for what, file, edit in (
        ("comment in the policy", "policy.toml", lambda text: text + "# a comment\n"),
        ("policy edited", "policy.toml", lambda text: text.replace("[18, 90]", "[18, 99]")),
        ("source changed", "customers.csv", lambda text: text + "33,north,yes\n"),
    ):
        path = project / file
        original = path.read_text(encoding="utf-8")
        path.write_text(edit(original), encoding="utf-8")
        yield what, bench.run(project, ledger)
        path.write_text(original, encoding="utf-8")

    yield "fresh machine", bench.run(bench.checkout("fresh"), ledger)


def _table() -> Iterator[str]:
    draw = random.Random(1)
    yield "age,region,bought"
    for _ in range(N_ROWS):
        region = draw.choice(["east", "north", "south", "west"])
        yield f"{draw.randint(18, 90)},{region},{draw.choice(['no', 'yes'])}"


def main() -> int:
    """Run the tools and print the table; 1 when a cell is not what it must be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"of {', '.join(TOOLS)}; all by default")
    parser.add_argument("--environments", type=Path, default=REPOSITORY / ".integrations", metavar="FOLDER")
    chosen = parser.parse_args()
    wrong: list[str] = []
    print(f"| tool | {' | '.join(EXPECTED)} |\n| --- |{' --- |' * len(EXPECTED)}", flush=True)
    for name in chosen.tools or TOOLS:
        with tempfile.TemporaryDirectory(prefix="anonkit-second-runs-") as folder:
            bench = Bench(name, Path(folder).resolve(), chosen.environments.resolve() / name)
            print(f"| {name} {bench.version()} ", end="", flush=True)
            for what, cell in rows(bench):
                print(f"| {cell}{'' if is_expected(what, cell) else ' ✗'} ", end="", flush=True)
                if not is_expected(what, cell):
                    wrong.append(f"{name}, {what}: {cell}, expected {EXPECTED[what]}\n{cell.said[-_SHOWN:]}")
            print("|", flush=True)
    print("".join(f"\n{text}\n" for text in wrong), file=sys.stderr, end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
