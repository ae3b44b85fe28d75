# SPDX-License-Identifier: Apache-2.0
"""Experiments: resumed as if never interrupted, on the tables that are meant, booked nowhere, left nowhere."""

from __future__ import annotations

import csv
import importlib.util
import math
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.experiment_scene import RECIPE, written
from hypothesis import given, settings
from hypothesis import strategies as st
from papers.harness import systems
from papers.harness.experiment_recipe import Experiment
from papers.harness.experiment_runner import run_experiment
from papers.harness.kept_runs import KeptRuns, run_key
from papers.harness.result_files import table_csv
from papers.harness.systems import RunOutcome

from anonkit.cli import anonkit
from anonkit.cli.boundary import run
from anonkit.errors import AnonkitError, MissingDependencyError, SourceError
from anonkit.ledger import Ledger
from anonkit.ledger.account import Account
from anonkit.policy.declaration import Policy

PAPERS = sorted((Path(__file__).parents[2] / "recipes" / "papers").glob("*.toml"))
IN_THE_GATE = ("001-rfka", "004-ppnb")
"""Quick forms that every change runs: the cheapest."""
MARKS_OF_THE_OTHERS = (pytest.mark.experiments, pytest.mark.timeout(1500))


def table(folder: Path, name: str = "small") -> list[dict[str, str]]:
    """Return the table of an experiment."""
    return list(csv.DictReader(StringIO((folder / f"{name}.csv").read_text(encoding="utf-8"))))


# --- interruption ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_killed_and_run_again_it_gives_the_table_of_one_that_was_not(tmp_path: Path) -> None:
    """SIGKILL after the first runs: the second call does the rest, and no file differs but the runs' own."""
    recipe = written(tmp_path)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    kept = killed / "small.runs.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "anonkit", "run", recipe, "--out", killed, "--quiet"], env={**os.environ}
    ) as process:
        while not kept.exists() or kept.read_bytes().count(b"\n") < 1:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    before = kept.read_bytes().count(b"\n")
    kept.write_bytes(kept.read_bytes() + b'{"run": "torn')

    resumed = run_experiment(recipe, out=killed)
    run_experiment(recipe, out=whole)

    assert resumed.runs_done_before == before
    for name in ("small.csv", "small.svg", "small.md", "small.html"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    assert run_experiment(recipe, out=killed, plot=False).runs_done_before == resumed.runs
    assert run_experiment(recipe, out=killed, plot=False, force=True).runs_done_before == 0


_outcomes = st.builds(
    RunOutcome,
    samples=st.lists(st.dictionaries(st.sampled_from(["auc", "epsilon"]), st.floats(allow_nan=False)), max_size=3).map(
        tuple
    ),
    promise=st.sampled_from(["none", "local-dp"]),
    epsilon=st.none() | st.floats(min_value=0, allow_nan=False),
    refused=st.none() | st.text(max_size=5),
)


@settings(max_examples=10)
@given(outcomes=st.lists(_outcomes, min_size=1, max_size=4), cut=st.integers(0, 400))
def test_wherever_the_file_of_runs_is_cut_what_was_whole_is_kept(
    outcomes: list[RunOutcome], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A prefix of the runs is there, each as it was, and what is kept after the cut is found too."""
    path = tmp_path_factory.mktemp("runs") / "a.runs.jsonl"
    first = KeptRuns(path)
    keys = [run_key({"at": at}) for at in range(len(outcomes))]
    for key, outcome in zip(keys, outcomes, strict=True):
        first.keep(key, outcome)
    first.close()
    path.write_bytes(path.read_bytes()[:cut])

    second = KeptRuns(path)
    there = [key in second for key in keys]
    for key, outcome in zip(keys, outcomes, strict=True):
        if key in second:
            assert second[key] == outcome
        else:
            second.keep(key, outcome)
    second.close()
    third = KeptRuns(path)
    third.close()

    assert there == sorted(there, reverse=True)
    assert [third[key] for key in keys] == outcomes


@pytest.mark.slow
def test_a_changed_system_is_run_again_and_no_other(tmp_path: Path) -> None:
    """Runs are known by what decides about them: titles, claims and plots do not."""
    done = run_experiment(written(tmp_path), out=tmp_path / "out", plot=False)
    renamed = RECIPE.replace('method = "ppnb"', 'method = "ppnb"\ntitle = "another"').replace(
        "Accuracy rises.", "It does."
    )
    changed = renamed.replace('method = "ppnb"', 'method = "ppnb"\nparameters = { center = false }')

    assert run_experiment(written(tmp_path, renamed), out=tmp_path / "out", plot=False).runs_done_before == done.runs
    again = run_experiment(written(tmp_path, changed), out=tmp_path / "out", plot=False)
    assert again.runs - again.runs_done_before == 4


# --- what is read, booked and left -----------------------------------------------------------------------------------


PUBLIC = """
[experiment]
title = "t"
paper = "p"
[data.a]
train = {{ file = "a.csv", sha256 = "{sha256}" }}
folds = 2
target = "label"
[system.commonest]
comparator = "commonest"
"""


def test_another_table_than_the_one_that_is_meant_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By its checksum, before anything runs; an absent one is said with the option that says where tables are."""
    text = b"x,label\n" + b"1,a\n2,b\n" * 10
    digest = sha256(text).hexdigest()
    recipe = written(tmp_path, PUBLIC.format(sha256=digest))
    command = ["run", str(recipe), "--out", str(tmp_path / "out"), "--data", str(tmp_path)]

    assert run(anonkit, command, "anonkit") == 3
    assert "--data DIR" in capfd.readouterr().err
    (tmp_path / "a.csv").write_bytes(text + b"3,a\n")
    with pytest.raises(SourceError, match="is not the table that the recipe means") as refused:
        run_experiment(recipe, data=tmp_path, out=tmp_path / "out")
    assert digest in str(refused.value.hint)
    assert not (tmp_path / "out").exists()

    (tmp_path / "a.csv").write_bytes(text)
    assert run_experiment(recipe, data=tmp_path, out=tmp_path / "out").runs == 2
    assert run(anonkit, [*command, "--json"], "anonkit") == 0


def test_no_ledger_is_touched_unless_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of the environment, not one beside the results; the one that is named books every release."""
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "of-the-environment.db"))
    text = RECIPE.replace('method = "ppnb"\naxes = { p_0 = "p_keep" }', 'method = "rr"\nparameters = { epsilon = 4.0 }')
    text = text[: text.index("[grid]")] + text[text.index("[data.") : text.index("[[claim]]")]
    recipe = written(tmp_path, text)

    run_experiment(recipe, out=tmp_path / "out", account=Account())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "small.toml"]
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".csv", ".html", ".jsonl", ".md"]

    named = Account(ledger=tmp_path / "named.db", dataset="customers", budget=100.0)
    run_experiment(recipe, out=tmp_path / "booked", account=named)
    standing = Ledger(tmp_path / "named.db").standing("customers")
    assert math.isclose(standing.epsilon, 2 * 4.0, rel_tol=0.01)


def test_every_release_is_seeded_and_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each report says that it is not for release, and no row is left in the folder of results."""
    made: list[Any] = []
    real = systems.release_table

    def watched(source: object, request: Any) -> Any:
        made.append((request, real(source, request)))
        return made[-1][1]

    monkeypatch.setattr(systems, "release_table", watched)
    run_experiment(written(tmp_path), out=tmp_path / "out", plot=False)

    assert len(made) == 4
    assert {release.report["randomness"] for _, release in made} == {"seeded: not for release"}
    assert all(request.output.place is None for request, _ in made)
    assert not [path for path in (tmp_path / "out").rglob("*") if path.suffix in (".parquet", ".json")]


@pytest.mark.slow
def test_the_table_is_what_the_runs_gave(tmp_path: Path) -> None:
    """Mean, standard deviation and number of every measure; nothing where a system has none."""
    report = run_experiment(written(tmp_path), out=tmp_path / "out", plot=False)
    rows = table(tmp_path / "out")

    assert [(row["system"], row["p_0"]) for row in rows] == [("ppnb", "0.2"), ("ppnb", "0.9"), ("commonest", "")]
    for row, one in zip(rows, report.measured, strict=True):
        values = list(one.values("accuracy").values())
        assert row["accuracy_n"] == "2"
        assert float(row["accuracy_mean"]) == pytest.approx(np.mean(values), rel=1e-5)
        assert float(row["accuracy_sd"]) == pytest.approx(np.std(values, ddof=1), rel=1e-4, abs=1e-9)
    assert (rows[0]["promise"], rows[0]["epsilon_true"], rows[0]["breach_n"]) == ("local-dp", "inf", "2")
    assert (rows[2]["promise"], rows[2]["epsilon_true"], rows[2]["breach_mean"]) == ("none", "", "")


@pytest.mark.slow
def test_a_page_says_what_ran(tmp_path: Path) -> None:
    """Rows, values of the axes and number of systems of this form; the recipe's words are of the whole experiment."""
    text = RECIPE.replace('paper = "Nobody: nowhere, 2026"', 'paper = "Nobody: nowhere, 2026"\nabout = "400 rows."')
    text += "[quick.grid]\np_0 = [0.5, 0.25]\n[quick.data.customers]\nsimulate = { rows = 90, test = 60 }\n"
    run_experiment(written(tmp_path, text), out=tmp_path / "quick", quick=True, plot=False)
    run_experiment(written(tmp_path, text), out=tmp_path / "whole", plot=False)
    quick, whole = ((tmp_path / form / "small.md").read_text(encoding="utf-8") for form in ("quick", "whole"))

    assert "customers: 90 simulated rows to learn from and 60 to predict. p_0 0.25, 0.5. 2 systems." in quick
    assert "Of the whole experiment, not of this quick form: 400 rows." in quick
    assert "customers: 400 simulated rows to learn from and 200 to predict. p_0 0.2, 0.9. 2 systems." in whole
    assert "\n400 rows." in whole


@pytest.mark.slow
def test_two_uses_of_one_release_are_of_the_same_noise(tmp_path: Path) -> None:
    """Systems that differ in the receiver's settings alone are compared on the same released rows."""
    more = '[system.again]\nmethod = "ppnb"\naxes = { p_0 = "p_keep" }\nsettings = { smoothing = 0.5 }\n\n[[claim]]'
    run_experiment(written(tmp_path, RECIPE.replace("[[claim]]", more, 1)), out=tmp_path / "out", plot=False)
    rows = table(tmp_path / "out")

    first, second = ([row["accuracy_mean"] for row in rows if row["system"] == name] for name in ("ppnb", "again"))
    assert first == second  # .5 is the model's own setting


def test_without_matplotlib_the_extra_is_named_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 4; with --no-plot it runs."""
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "matplotlib" else real(name, *more)
    )
    recipe = written(tmp_path)

    with pytest.raises(MissingDependencyError, match=r"anonkit\[plots\]") as refused:
        run_experiment(recipe, out=tmp_path / "out", quick=True)
    assert refused.value.exit_code == 4
    assert not (tmp_path / "out").exists()
    assert (
        run(anonkit, ["run", str(recipe), "--quick", "--no-plot", "--out", str(tmp_path / "out"), "-q"], "anonkit") == 0
    )
    assert not (tmp_path / "out" / "small.svg").exists()


# --- recipes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "A small experiment"', "", "needs title"),
        ("repeats = 2", "repeats = 0", "repeats must be a whole number from 1 on"),
        ("repeats = 2", "repeat = 2", "did you mean 'repeats'"),
        ('"accuracy", "breach"', '"acuracy"', "did you mean 'accuracy'"),
        ("p_0 = [0.2, 0.9]", "p_0 = 0.2", "must be a list"),
        ("p_0 = [0.2, 0.9]", "p_0 = [0.2, 0.2]", "has a value twice"),
        ("p_0 = [0.2, 0.9]", "p_0 = [0.2]\nk = [1]", "no system varies along 'k'"),
        ("simulate = { rows = 400, test = 200 }", "", "either train or simulate"),
        ("simulate = { rows = 400, test = 200 }", "simulate = { rows = 400, test = 0 }", "test must be a whole number"),
        ("simulate = { rows = 400, test = 200 }", 'train = { file = "a.csv" }\nfolds = 2', "needs file and sha256"),
        ('method = "ppnb"', 'method = "ppmb"', "did you mean 'ppnb'"),
        ('method = "ppnb"', 'method = "ppnb"\nparameters = { centre = true }', "did you mean 'center'"),
        ('method = "ppnb"', 'method = "ppnb"\ncomparator = "dtpd"', "either method or comparator"),
        ('axes = { p_0 = "p_keep" }', 'axes = { p_1 = "p_keep" }', "did you mean 'p_0'"),
        ('comparator = "commonest"', 'comparator = "comonest"', "did you mean 'commonest'"),
        ('left = "ppnb"', 'left = "pnb"', "did you mean 'ppnb'"),
        ('is = "rises"', 'is = "grows"', "a claim cannot be 'grows'"),
        ('along = "p_0"', "", "rises needs along"),
        ('x = "p_0"', 'x = "k"', "there is no axis 'k'"),
        ("[quick.experiment]\nrepeats = 1", "", "has no quick form"),
        ("[[panel]]", "[[panell]]", "did you mean 'panel'"),
        ("[experiment]", "[experiment", "is not TOML"),
    ],
)
def test_a_mistake_in_a_recipe_is_one_line_that_names_it(tmp_path: Path, old: str, new: str, said: str) -> None:
    """With the recipe's name or the method's, before anything runs, and a hint."""
    assert old in RECIPE
    with pytest.raises(AnonkitError) as refused:
        Experiment.load(written(tmp_path, RECIPE.replace(old, new, 1)), quick="quick" in old)
    assert said in str(refused.value)
    assert "\n" not in refused.value.message


def test_options_of_a_release_and_of_an_experiment_are_not_mixed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], repository: Path
) -> None:
    """Exit 2 and the option by its name."""
    assert run(anonkit, ["run", str(written(tmp_path)), "--output", "x.parquet"], "anonkit") == 2
    assert "--output" in capfd.readouterr().err
    assert run(anonkit, ["run", str(repository / "recipes" / "bank-rfka.toml"), "--quick"], "anonkit") == 2
    assert "--quick" in capfd.readouterr().err


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_every_recipe_of_a_paper_can_be_read(path: Path) -> None:
    """In both forms; every claim and every panel of the full form is about something that is run."""
    whole, quick = Experiment.load(path), Experiment.load(path, quick=True)

    assert len(quick.configurations) * quick.repeats <= len(whole.configurations) * whole.repeats
    assert whole.claims
    assert whole.panels
    names = table_csv(whole, []).splitlines()[0].split(",")
    assert len(set(names)) == len(names)  # an axis may be called epsilon, too


def test_paper_000_runs_the_papers_forms() -> None:
    """Five repeats; published presets of what specializes, along declared groups; no privacy by its own algorithm."""
    paper = Experiment.load(next(path for path in PAPERS if path.stem == "000-diffprfs"))

    assert paper.repeats == 5
    assert {paper.systems[name].preset for name in ("diffgen", "dt-diff")} == {"paper"}
    policy = Policy.load(PAPERS[0].parent / "policies" / "adult-taxonomies.toml")
    assert sum(column.tree is not None for column in policy.columns.values()) == 6
    plain = Policy.load(PAPERS[0].parent / "policies" / "adult.toml")
    assert {name: column.domain_values for name, column in policy.columns.items()} == {
        name: column.domain_values for name, column in plain.columns.items()
    }
    exact = {system.comparator for system in paper.systems.values() if system.name.startswith("exact")}
    assert exact == {"diffprfs"}


@pytest.mark.slow_cases("004-ppnb")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.stem in IN_THE_GATE else MARKS_OF_THE_OTHERS, id=path.stem)
        for path in PAPERS
    ],
)
def test_the_quick_form_of_every_paper_runs(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Table, plot and both forms of the verdict are there, and no claim lacks its word."""
    quick = Experiment.load(path, quick=True)
    if any(spec.train is not None for spec in quick.data.values()):
        request.getfixturevalue("real_tables")
    if any(system.engine_name == "spark" for system in quick.systems.values()):
        request.getfixturevalue("spark")
    report = run_experiment(path, quick=True, out=tmp_path)

    assert {file.suffix for file in report.files} == {".csv", ".svg", ".md", ".html", ".jsonl"}
    assert all(file.stat().st_size > 0 for file in report.files)
    assert len(table(tmp_path, path.stem)) == len(report.measured)
    page = (tmp_path / f"{path.stem}.html").read_text(encoding="utf-8")
    assert page.count('<div class="claim') == len(report.verdicts)


def test_what_is_of_a_release_is_measured_once_however_many_folds_score_it(tmp_path: Path) -> None:
    """One release of which five folds are scored has one time, not five equal ones that look sure."""
    rows = b"".join(b"%d,%s\n" % (at % 7, b"ab"[at % 2 : at % 2 + 1]) for at in range(60))
    (tmp_path / "a.csv").write_bytes(b"x,label\n" + rows)
    digest = sha256((tmp_path / "a.csv").read_bytes()).hexdigest()
    text = (
        PUBLIC.format(sha256=digest)
        .replace("folds = 2", "released_folds = 3")
        .replace('comparator = "commonest"', 'method = "mondrian"\nparameters = { k = 5 }\nmodel = "svm"')
    )
    text = text.replace('paper = "p"', 'paper = "p"\nrepeats = 2\nmeasures = ["auc", "seconds", "kept"]')
    run_experiment(written(tmp_path, text), data=tmp_path, out=tmp_path / "out")

    (row,) = table(tmp_path / "out")
    assert (row["auc_n"], row["seconds_n"], row["kept_n"]) == ("6", "2", "2")
