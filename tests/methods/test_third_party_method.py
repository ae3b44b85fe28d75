# SPDX-License-Identifier: Apache-2.0
"""The method of docs/how-to/write-a-method.md, installed as its package: known, and checked by its promise."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.cli import anonkit as program
from anonkit.cli import commands
from anonkit.cli.boundary import run
from anonkit.cli.commands import declared_parameters
from anonkit.datasets import hospital_visits
from anonkit.errors import GuaranteeError, ParameterError, PolicyError, SourceError
from anonkit.methods import claim_of, make_method, method_class, method_names, method_parameters
from anonkit.policy.declaration import Policy
from anonkit.protocols import Method

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-method.md"
NAME = "in-step"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page, installed by pip into a folder of its own."""
    folder = tmp_path_factory.mktemp("in-step")
    blocks = re.findall(r"^```\w+\n# ([\w.]+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert [name for name, _ in blocks] == ["pyproject.toml", "in_step.py"]
    for name, text in blocks:
        (folder / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
         "--disable-pip-version-check", "--target", "site", "."],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(autouse=True)
def _known(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let it be known during a test: the command line reads once which methods there are."""
    monkeypatch.syspath_prepend(str(installed))
    _forget_methods()
    yield
    monkeypatch.undo()
    _forget_methods()


def _forget_methods() -> None:
    for read_once in (declared_parameters, commands._options):
        read_once.cache_clear()


def _smallest(table: pa.Table, known: tuple[str, ...]) -> int:
    """Count the smallest class with nothing of anonkit; 0 without rows."""
    rows = zip(*(table[name].to_pylist() for name in known if name in table.column_names), strict=True)
    return min(Counter(rows).values(), default=table.num_rows)


@pytest.mark.slow
def test_an_installed_method_is_known_like_one_of_ours() -> None:
    """By its name, with parameters, range and promise; frozen, and a value of its parameters."""
    assert method_names()[-1] == NAME
    assert "max_suppression" in {one.name for one in method_parameters(NAME)}
    assert claim_of(method_class(NAME)) is not None
    method = make_method(NAME, {"k": 5})
    assert isinstance(method, Method)
    assert method.guarantee(Policy()).kind == "k-anonymity"
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.k = 3  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="max_suppression"):
        make_method(NAME, {"k": 5, "max_suppression": -1})


@pytest.mark.slow
def test_commands_know_it_and_its_release_validates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The commands of the page, once installed: `methods` lists it, `release` makes a table, `validate` agrees."""
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(hospital_visits(300, 1), "visits.csv")
    (typed,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    install, *commands = typed.splitlines()
    assert install == "pip install ."
    for command in commands:
        assert run(program, shlex.split(command)[1:], "anonkit") == 0, command
    assert "max-suppression" in capfd.readouterr().out
    assert _smallest(anonkit.load("out.parquet").to_arrow(), ("ward", "month", "days")) >= 10


_CELLS = st.tuples(
    st.integers(0, 12), st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(0, 3)), st.booleans()
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(_CELLS, min_size=1, max_size=60), k=st.integers(2, 8))
def test_its_classes_are_counted_by_somebody_else(rows: list[tuple[object, ...]], k: int) -> None:
    """On awkward tables: either k rows share every combination, by a count of our own, or nothing is released."""
    names = ("age", "job", "floor", "y")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    table = pa.table({**columns, "floor": pa.array(columns["floor"], pa.int64())})
    try:
        made = anonkit.release(table, method=NAME, k=k, target="y", max_suppression=0.2, ledger=None).to_arrow()
    except (GuaranteeError, PolicyError, SourceError):
        return
    assert _smallest(made, names[:3]) >= k
    assert made.num_rows >= 0.8 * len(rows)


def test_a_search_that_is_wrong_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A climb that stops at full detail and says that nothing is too small is refused when the rows are counted."""
    import in_step  # type: ignore[import-not-found]

    class Blind(in_step.Lattice):  # type: ignore[misc]
        """Believes that every node will do."""

        def meets(self, node: object) -> bool:
            return True

        def n_suppressed(self, node: object) -> int:
            return 0

    monkeypatch.setattr(in_step, "Lattice", Blind)
    with pytest.raises(GuaranteeError):
        anonkit.release(
            hospital_visits(150, 1),
            method=NAME,
            k=10,
            target="readmitted",
            identifiers=["patient"],
            unit="none",
            ledger=None,
        )
