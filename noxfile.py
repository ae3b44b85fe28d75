"""Sessions that need environments of their own: other versions of Python and of the dependencies, the built wheel.

`nox -l` lists them, `nox` runs all that this machine has the Pythons for. What follows `--` goes to pytest:
`nox -s tests_oldest -- tests/methods`. The hosted workflows run these sessions, and nothing of their own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Every version that the classifiers of pyproject.toml name."""

REPOSITORY = Path(__file__).parent
DISTRIBUTIONS = REPOSITORY / "dist"

nox.options.default_venv_backend = "virtualenv"


def _pytest(session: nox.Session, *arguments: str) -> None:
    session.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)


def _test(session: nox.Session, *arguments: str) -> None:
    """Run the quick tests, but for those that hold only under constraints.txt."""
    chosen = ("-n", "auto", "--dist", "worksteal", "-m", "not slow and not experiments and not docs and not pinned")
    _pytest(session, *chosen, *arguments, *session.posargs)


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Lint, check the format and check the types, with the versions of constraints.txt."""
    session.install("-c", "constraints.txt", "-e", ".", "mypy", "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(python=PYTHONS)
def tests_newest(session: nox.Session) -> None:
    """Test with the newest version of every dependency."""
    session.install("--upgrade", "--upgrade-strategy", "eager", "-e", ".[dev]")
    _test(session)


@nox.session(python=PYTHONS[0])
def tests_oldest(session: nox.Session) -> None:
    """Test with the oldest version of every dependency that pyproject.toml declares."""
    session.install("-c", "constraints-oldest.txt", "-e", ".[dev]")
    told = (
        "ignore:Passing a non-Collection iterable",  # scikit-learn 1.6 to the newest pytest
        "ignore:unclosed <socket.socket:ResourceWarning",  # PySpark 4.0 leaves closing to the garbage collector
    )
    _test(session, *(word for warning in told for word in ("-W", warning)))


@nox.session(python=PYTHONS[0])
def build(session: nox.Session) -> None:
    """Build the source distribution, and the wheel out of it, into dist/."""
    session.install("build")
    shutil.rmtree(DISTRIBUTIONS, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(DISTRIBUTIONS))


@nox.session(python=(PYTHONS[0], PYTHONS[-1]))
def wheel(session: nox.Session) -> None:
    """Install the wheel of dist/ and nothing else, run the demo, validate the release."""
    built = list(DISTRIBUTIONS.glob("*.whl"))
    if len(built) != 1:
        session.error(f"dist/ must hold one wheel, it holds {len(built)}: nox -s build wheel")
    session.install("--upgrade", f"anonkit[pandas] @ {built[0].resolve().as_uri()}")
    session.run("python", "-I", "tests/installed_wheel.py")


@nox.session(python=PYTHONS[0])
def docs(session: nox.Session) -> None:
    """Build the site, follow its links and every code block by the letter, run the examples and recipes."""
    session.install("-c", "constraints.txt", "-e", ".[dev]")
    pages = (
        "tests/documentation",
        "tests/test_quality.py",
        "tests/cli/test_reference.py",
        "tests/test_examples.py",
        "tests/pipeline/test_recipe.py",
        "tests/pages",
    )
    _pytest(session, "-m", "not slow and not integrations and not experiments", *pages, *session.posargs)
