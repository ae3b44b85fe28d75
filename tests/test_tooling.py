"""Tooling around the code: dependencies, workflows, hooks, sessions and the pages that make a project citable."""

from __future__ import annotations

import ast
import functools
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import release_ready
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OPTIONAL_AT_RUN_TIME = {
    "desk": {"starlette", "tomlkit", "uvicorn"},
    "excel": {"fastexcel", "xlsxwriter"},
    "geo": {"h3"},
    "lake": {"deltalake", "pyiceberg"},
    "objects": {"boto3", "botocore"},
    "plots": {"matplotlib"},
    "postgres": {"adbc_driver_manager", "adbc_driver_postgresql", "psycopg"},
    "stats": {"pyreadstat"},
    "spark": {"pyspark", "py4j", "grpc"},
    "validate": {"great_expectations", "sqlalchemy"},
}
"""Extra -> what may be imported only where the extra is installed."""

TOOLS = {"airflow": "airflow", "dagster": "dagster", "prefect": "prefect"}
"""Extra of an integration -> the tool that its module imports; each is installed into an environment of its own."""

DISTRIBUTIONS = {"sklearn": "scikit-learn", "airflow": "apache-airflow"}
"""Import name -> the name it is installed by, where the two differ by more than a dash."""


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    declared: dict[str, Any] = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return declared


@pytest.fixture(scope="module")
def workflows(repository: Path) -> dict[str, Any]:
    """File name -> hosted workflow."""
    folder = repository / ".github" / "workflows"
    return {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yml"))}


@pytest.fixture(scope="module")
def sessions(repository: Path) -> list[dict[str, Any]]:
    """The sessions of noxfile.py, as nox lists them."""
    listed = subprocess.run(
        [sys.executable, "-m", "nox", "--list-sessions", "--json"],
        cwd=repository, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[dict[str, Any]] = json.loads(listed.stdout)
    return found


def _steps(workflows: dict[str, Any], key: str) -> Iterator[tuple[dict[str, Any], str]]:
    for workflow in workflows.values():
        for job in workflow["jobs"].values():
            for step in job.get("steps", []):
                if key in step:
                    yield step, step[key]


def _requirements(project: dict[str, Any], *extras: str) -> list[Requirement]:
    listed = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return [needed for needed in map(Requirement, listed) if needed.name != "anonkit"]


def _pins(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def _make_targets(repository: Path) -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


# dependencies


@functools.cache
def _imported(repository: Path) -> dict[str, Path]:
    """Third-party package -> a file of anonkit, or of the harness of experiments, that imports it."""
    found: dict[str, Path] = {}
    for path in sorted([*(repository / "anonkit").rglob("*.py"), *(repository / "recipes" / "papers").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.append(str(node.module))
            found.update({name.split(".")[0]: path for name in names})
    return {name: path for name, path in found.items() if name not in sys.stdlib_module_names | {"anonkit", "papers"}}


def _distribution(imported: str) -> str:
    return canonicalize_name(DISTRIBUTIONS.get(imported, imported))


def test_what_the_package_imports_is_declared(repository: Path, project: dict[str, Any]) -> None:
    """Nothing comes along by luck: a dependency of a dependency is declared, or belongs to a declared extra."""
    declared = {canonicalize_name(needed.name) for needed in _requirements(project)}
    optional = set().union(TOOLS.values(), *OPTIONAL_AT_RUN_TIME.values())
    undeclared = {
        f"{name} ({path.relative_to(repository)})"
        for name, path in _imported(repository).items()
        if name not in optional and _distribution(name) not in declared
    }
    assert not undeclared


def test_what_is_declared_is_imported(repository: Path, project: dict[str, Any]) -> None:
    """No user installs what no file of the package uses."""
    imported = {_distribution(name) for name in _imported(repository)}
    users = set(project["optional-dependencies"]) - {"all", "dev", "docs"}
    declared = {canonicalize_name(needed.name) for needed in _requirements(project, *users)}
    assert declared <= imported


def test_extras_that_are_named_exist(repository: Path, project: dict[str, Any]) -> None:
    """Hints, pages, examples and recipes name extras that can be installed and bring something."""
    texts = [
        *repository.glob("*.md"),
        *(p for d in ("anonkit", "docs", "examples", "recipes") for p in (repository / d).rglob("*")),
    ]
    named = {
        extra.strip()
        for path in texts
        if path.suffix in {".md", ".py", ".toml", ".sql"}
        for extras in re.findall(r"anonkit\[([a-z, ]+)\]", path.read_text(encoding="utf-8"))
        for extra in extras.split(",")
    }
    assert {"spark", "validate"} <= named
    for extra in named:
        assert project["optional-dependencies"].get(extra), extra


def test_pandas_is_no_extra_anymore_but_its_name_installs(project: dict[str, Any]) -> None:
    """`to_pandas()` works after `pip install anonkit`; `anonkit[pandas]` of older instructions is no error."""
    assert "pandas" in {needed.name for needed in _requirements(project)}
    assert project["optional-dependencies"]["pandas"] == []


def test_the_oldest_versions_are_those_declared(repository: Path, project: dict[str, Any]) -> None:
    """constraints-oldest.txt is the lower bounds of pyproject.toml, no more and no less."""
    bounds = {}
    for needed in _requirements(project, *OPTIONAL_AT_RUN_TIME):
        (lowest,) = [each.version for each in needed.specifier if each.operator == ">="]
        bounds[canonicalize_name(needed.name)] = lowest
    pins = _pins(repository / "constraints-oldest.txt")
    assert set(pins) == set(bounds)
    for name, lowest in bounds.items():
        assert pins[name] == lowest or re.fullmatch(rf"{re.escape(lowest)}(\.0)+", pins[name]), name


def test_the_gate_pins_every_dependency_within_its_bounds(repository: Path, project: dict[str, Any]) -> None:
    """constraints.txt names every direct dependency, at a version that pyproject.toml allows."""
    pins = _pins(repository / "constraints.txt")
    for needed in _requirements(project, *OPTIONAL_AT_RUN_TIME, "dev", "docs"):
        assert needed.specifier.contains(pins[canonicalize_name(needed.name)]), needed


def test_the_tools_of_integrations_stay_out_of_every_other_environment(project: dict[str, Any]) -> None:
    """Their pins exclude each other: neither `all` nor `dev` brings one, and no extra brings two."""
    extras = project["optional-dependencies"]
    names = {canonicalize_name(_distribution(tool)) for tool in TOOLS.values()}
    for extra in set(extras) - set(TOOLS):
        assert not names & {canonicalize_name(needed.name) for needed in _requirements(project, extra)}, extra
        assert not any(f"anonkit[{tool}" in line for tool in TOOLS for line in extras[extra])
    for extra in TOOLS:
        assert [canonicalize_name(Requirement(line).name) for line in extras[extra]] == [_distribution(TOOLS[extra])]


def test_every_tool_is_tested_at_a_version_that_its_extra_allows(repository: Path, project: dict[str, Any]) -> None:
    """`make test-integrations` installs what tests/integrations/NAME/constraints.txt pins."""
    for extra in TOOLS:
        pins = _pins(repository / "tests" / "integrations" / extra / "constraints.txt")
        for needed in _requirements(project, extra):
            if canonicalize_name(needed.name) in pins:
                assert needed.specifier.contains(pins[canonicalize_name(needed.name)]), (extra, needed)
        assert _distribution(TOOLS[extra]) in pins


# sessions and workflows


def test_every_command_of_a_workflow_is_one_of_here(
    repository: Path, workflows: dict[str, Any], sessions: list[dict[str, Any]]
) -> None:
    """Hosted runs do what can be run on any machine: a target of the Makefile or a session of the noxfile."""
    names = {session["session"] for session in sessions} | {session["name"] for session in sessions}
    runs = [command for _, command in _steps(workflows, "run")]
    assert runs
    for command in runs:
        done = command.replace("${{ matrix.python }}", "3.11").removesuffix(' TAG="$GITHUB_REF_NAME"')
        done = done.removesuffix(' TESTS="${{ matrix.tests }}"').split()
        if done[:2] == ["nox", "-s"]:
            assert set(done[2:]) <= names, command
        elif done[0] == "make":
            assert set(done[1:]) <= _make_targets(repository), command
        else:
            assert done == ["python", "-m", "pip", "install", "nox"], command


def test_every_long_test_runs_once_a_week(repository: Path, workflows: dict[str, Any]) -> None:
    """Expectations that nobody runs grow old: of each folder with `slow` tests the week has a part."""
    parts = " ".join(workflows["tests.yml"]["jobs"]["slow"]["strategy"]["matrix"]["tests"]).split()
    folders = {
        path.relative_to(repository).parts[1]
        for path in (repository / "tests").rglob("test_*.py")
        if re.search(r"mark\.slow\b|quick_cases\(|slow_cases\(", path.read_text(encoding="utf-8"))
    }
    assert {f"tests/{name}" for name in folders if not name.endswith(".py")} <= set(parts)
    assert "tests/test_*.py" in parts
    assert len(parts) == len(set(parts))
    assert all(part == "tests/test_*.py" or (repository / part).is_dir() for part in parts)


def test_files_that_sessions_and_targets_name_exist(repository: Path) -> None:
    """A moved test or benchmark is missed here, not a week later."""
    for source in ("noxfile.py", "Makefile", ".pre-commit-config.yaml"):
        text = (repository / source).read_text(encoding="utf-8").replace("\\.", ".")
        named = re.findall(r"\b(?:tests|recipes|docs)/[\w/-]+(?:\.[a-z]+)?\b", text)
        assert named, source
        assert [name for name in named if not (repository / name).exists()] == [], source


def test_targets_that_pages_name_exist(repository: Path) -> None:
    """`make x` on the pages for people who change anonkit can be typed."""
    names = ("README.md", "CONTRIBUTING.md", "docs/how-to/run-the-tests.md", "docs/how-to/write-a-page.md")
    pages = "".join((repository / name).read_text(encoding="utf-8") for name in names)
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", pages, re.MULTILINE))
    assert {"test", "demo"} <= named <= _make_targets(repository)


def test_every_supported_python_is_tested(
    project: dict[str, Any], workflows: dict[str, Any], sessions: list[dict[str, Any]]
) -> None:
    """Classifiers, the hosted matrix, the local sessions and `requires-python` name the same versions."""
    prefix = "Programming Language :: Python :: "
    claimed = [line.removeprefix(prefix) for line in project["classifiers"] if line.startswith(prefix)]
    assert workflows["tests.yml"]["jobs"]["newest"]["strategy"]["matrix"]["python"] == claimed
    assert [each["python"] for each in sessions if each["name"] == "tests_newest"] == claimed
    assert project["requires-python"] == f">={claimed[0]}"
    assert [each["python"] for each in sessions if each["name"] == "tests_oldest"] == claimed[:1]
    installed = workflows["wheel.yml"]["jobs"]["install"]["strategy"]["matrix"]["python"]
    assert [each["python"] for each in sessions if each["name"] == "wheel"] == installed


def test_no_property_is_timed(repository: Path) -> None:
    """A deadline, and the check of slow draws, fail where other jobs share the machine: each list leaves both out."""
    found = 0
    for path in sorted((repository / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for listed in re.findall(r"suppress_health_check=\[([^\]]*)\]", text):
            assert "too_slow" in listed, path
            found += 1
        assert set(re.findall(r"[(, ]deadline=(\w+)", text)) <= {"None"}, path
    assert found > 5


def test_workflows_hold_no_right_that_they_do_not_need(workflows: dict[str, Any]) -> None:
    """All read the sources; one job may say who it is, to publish. No secret is named, no checkout keeps a token."""
    for name, workflow in workflows.items():
        assert workflow["permissions"] == {"contents": "read"}, name
        for title, job in workflow["jobs"].items():
            more = {"id-token": "write"} if (name, title) == ("release.yml", "publish") else None
            assert job.get("permissions") == more, f"{name}: {title}"
            assert "uses" in job or job["timeout-minutes"] <= (350 if title == "slow" else 45)
        assert "secrets" not in json.dumps(workflow), name
    for step, action in _steps(workflows, "uses"):
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", action), action
        if action.startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_nothing_is_published_that_was_not_tested(repository: Path, workflows: dict[str, Any]) -> None:
    """The publishing job waits for every other job of the release, and these call every other workflow."""
    jobs = workflows["release.yml"]["jobs"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert jobs["publish"]["environment"] == "release"
    called = {Path(job["uses"]).name for job in jobs.values() if "uses" in job}
    assert called == set(workflows) - {"release.yml"}
    for name in called:
        assert "workflow_call" in workflows[name][True], name  # YAML 1.1 reads the key `on` as a truth value


def test_hooks_of_developers_run_what_the_gate_runs(repository: Path) -> None:
    """Every hook is a program of the development environment, and looks at files that exist."""
    configured = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = configured["repos"]
    assert local["repo"] == "local"
    assert {hook["id"] for hook in local["hooks"]} >= {"ruff-check", "ruff-format", "mypy"}
    for hook in local["hooks"]:
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/")
        assert shutil.which(Path(program).name, path=str(Path(sys.executable).parent)), program
        if "files" in hook:
            assert re.search(hook["files"], "anonkit/policy/declaration.py"), hook["id"]


# what a release needs beside code


def _publishable(repository: Path, folder: Path) -> Path:
    """Return a copy of what release_ready reads, as an owner would have filled and cut it."""
    version = release_ready.version_of(repository)
    for name in (*release_ready.PLACEHOLDERS, "CHANGELOG.md", "anonkit/__init__.py"):
        text = (repository / name).read_text(encoding="utf-8")
        text = text.replace(release_ready.PLACEHOLDERS.get(name, "\0"), "https://example.org/owner")
        if name == "CHANGELOG.md":
            text = text.replace("## Unreleased", f"## {version}", 1)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_tree_that_an_owner_has_finished_can_be_published(repository: Path, tmp_path: Path) -> None:
    """With placeholders filled and the changelog cut nothing is in the way of the tag of its version."""
    finished = _publishable(repository, tmp_path)
    assert list(release_ready.obstacles(finished, f"v{release_ready.version_of(repository)}")) == []


@pytest.mark.parametrize("name", [*release_ready.PLACEHOLDERS, "CHANGELOG.md", "anonkit/__init__.py"])
def test_an_unfinished_tree_is_not_published(repository: Path, tmp_path: Path, name: str) -> None:
    """Each placeholder, a changelog without the version and another tag are refused, and the file is named."""
    finished = _publishable(repository, tmp_path)
    tag = f"v{release_ready.version_of(repository)}"
    text = (finished / name).read_text(encoding="utf-8")
    if name in release_ready.PLACEHOLDERS:
        text += release_ready.PLACEHOLDERS[name]
    elif name == "CHANGELOG.md":
        text = text.replace(f"## {tag[1:]}", "## Unreleased")
    else:
        text = text.replace(f'__version__ = "{tag[1:]}"', '__version__ = "99.0.0"')
    (finished / name).write_text(text, encoding="utf-8")

    found = list(release_ready.obstacles(finished, tag))
    assert found
    assert any(name in obstacle or "__version__" in obstacle for obstacle in found)


def test_only_one_line_waits_for_the_owner(repository: Path) -> None:
    """The address of the repository, first line of CITATION.cff; every other page works before anybody knows it."""
    ((name, placeholder),) = release_ready.PLACEHOLDERS.items()
    assert placeholder in (repository / name).read_text(encoding="utf-8").splitlines()[0]
    pages = [*repository.glob("*.md"), *repository.glob("docs/**/*.md"), *repository.glob(".github/**/*.yml")]
    waiting = re.compile(rf"{re.escape(placeholder)}|\bOWNER/|[A-Z]+-OF-THE-[A-Z]+")
    assert len(pages) > 50
    assert [page.name for page in pages if waiting.search(page.read_text(encoding="utf-8"))] == []


def test_the_citation_cites_this_version(repository: Path, project: dict[str, Any]) -> None:
    """CITATION.cff has what its format requires, and the version and license of the package."""
    cited = yaml.safe_load((repository / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert str(cited["cff-version"]) == "1.2.0"
    assert cited["version"] == release_ready.version_of(repository)
    assert cited["license"] == project["license"]
    assert [author["name"] for author in cited["authors"]] == [author["name"] for author in project["authors"]]


def test_what_a_newcomer_reads_is_short_and_names_files_that_exist(repository: Path) -> None:
    """CONTRIBUTING has at most 900 words; each file that it or the pages behind it name is in the repository."""
    first = (repository / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(first.split()) <= 900
    for page in (
        "CONTRIBUTING.md",
        *(f"docs/how-to/{name}.md" for name in ("run-the-tests", "write-a-page", "add-a-promise")),
    ):
        text = (repository / page).read_text(encoding="utf-8")
        named = re.findall(r"`((?:tests|anonkit|recipes|docs|\.github)/[\w./-]+)`", text)
        assert named, page
        assert [name for name in named if not (repository / name).exists()] == [], page
