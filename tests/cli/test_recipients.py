"""`--recipients`: whom a table is meant for is in report, page and terminal, from wherever it was declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.report.first_facts import first_facts, text_of

K = ("--method", "mondrian", "--k", 3, "--identifier", "name", "--target", "income", "--no-utility", "--no-ledger")
NOISE = ("--method", "rr", "--epsilon", 4, "--no-ledger")


def _report(output: Path) -> Any:
    return json.loads(output.with_suffix(".report.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_option_goes_before_the_policy(cli: Any, table: Path) -> None:
    """Report, page, terminal and JSON name them; what nobody declares is no key; the release validates."""
    output, policy = table.with_name("out.parquet"), table.with_name("meant.toml")
    policy.write_text('[publication]\nrecipients = "the archive"\n', encoding="utf-8")

    assert cli("release", table, output, *K).code == 0
    assert "recipients" not in _report(output)

    ran = cli("release", table, output, *K, "--policy", policy, "--force")
    assert _report(output)["recipients"] == ["the archive"]
    assert "meant for the archive, as its owner declares" in " ".join(ran.out.split())
    page = output.with_suffix(".report.html").read_text(encoding="utf-8")
    assert "The table is meant for" in page
    assert "the archive" in page

    asked = (*K, "--policy", policy, "--recipients", "a <b>", "--recipients", "c", "--force")
    assert cli("release", table, output, *asked).code == 0
    assert _report(output)["recipients"] == ["a <b>", "c"]
    assert "a <b>" not in output.with_suffix(".report.html").read_text(encoding="utf-8")
    assert cli("validate", output).code == 0


def test_a_plan_under_noise_names_them(cli: Any, table: Path) -> None:
    """They are declared, so that a plan that draws nothing says them."""
    asked = (*NOISE, "--domains-from-data", "--domains-min-people", 2, "--identifier", "name", "--dry-run")
    ran = cli("release", table, table.with_name("out.parquet"), *asked, "--recipients", "x")
    assert ran.code == 0, ran.err
    assert "meant for x" in ran.out


@pytest.mark.slow
def test_recipe_python_and_next_batch(cli: Any, table: Path) -> None:
    """A recipe's own key, the keyword of a call, and a batch, which takes none over from the earlier release."""
    recipe, output = table.with_name("recipe.toml"), table.with_name("out.parquet")
    recipe.write_text(
        f'method = "mondrian"\ninput = "{table.name}"\noutput = "out.parquet"\nrecipients = ["r"]\nutility = false\n'
        '[parameters]\nk = 3\n[policy.columns]\nname = { role = "identifier" }\nincome = { role = "target" }\n',
        encoding="utf-8",
    )
    assert cli("run", recipe, "--no-ledger").code == 0
    assert _report(output)["recipients"] == ["r"]

    asked = {"method": "mondrian", "k": 3, "identifiers": ["name"], "target": "income", "utility": False}
    assert anonkit.release(table, recipients="p", **asked).report["recipients"] == ["p"]  # type: ignore[arg-type]

    batch = table.with_name("next.parquet")
    for options, said in (((), None), (("--recipients", "n", "--force"), ["n"])):
        ran = cli("apply", output, table, batch, "--no-ledger", *options)
        assert ran.code == 0, ran.err
        assert _report(batch).get("recipients") == said


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_recipient_is_refused(cli: Any, table: Path, text: str) -> None:
    """One line that names the key, and nothing is written."""
    ran = cli("release", table, table.with_name("out.parquet"), *K, "--recipients", text)
    assert ran.code == 3
    assert "recipients has an empty text" in ran.err
    assert not table.with_name("out.parquet").exists()


@given(st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=4))
def test_every_recipient_stands_in_the_sentence(names: list[str]) -> None:
    """None is lost, in the order declared."""
    report = {"recipients": names, "rows": {}, "columns": [], "budget": {}, "method": {"name": "m"}}
    report["guarantee"] = {"kind": "none", "statement": "s", "parameters": {}}
    (topic,) = (topic for topic in first_facts(report) if topic.label == "Recipients")
    (said,) = map(text_of, topic.sentences)
    at = 0
    for name in names:
        at = said.index(name, at) + len(name)
