# SPDX-License-Identifier: Apache-2.0
"""`report`, and the group of all commands.

Short help of a command.

The file of `--junit`: found wherever it is named, begun before anything, and never over a file of another kind.

Parameters of methods as options: generated, shared by name, read as the chosen method declares them.
"""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from anonkit.cli import COMMANDS, anonkit, commands
from anonkit.cli.commands import JunitCommand, ShortHelp, declared_parameters, read_parameters
from anonkit.cli.outcome import WrongUsage
from anonkit.errors import GuaranteeError, ParameterError
from anonkit.methods import METHODS, method_class
from anonkit.parameters import parameter, parameters_of
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import NoGuarantee


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_one_screen_and_says_what_it_leaves_out(cli: Any, command: str) -> None:
    """At most sixty lines of eighty columns; an option is in `--help`, or counted there and in `--help-all`."""
    short, found = cli(command, "--help").out, anonkit.get_command(None, command)  # type: ignore[arg-type]
    assert len(short.splitlines()) <= 60
    if command == "release" or not isinstance(found, ShortHelp):
        return
    names = [one.opts[-1] for one in found.params if isinstance(one, click.Option)]
    listed, all_listed = (
        re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, flags=re.MULTILINE)
        for text in (short, cli(command, "--help-all").out)
    )
    assert set(names) <= set(all_listed)
    left_out = [name for name in names if name not in listed]
    assert f"{len(left_out)} more, on" in short
    assert left_out


def command_that(raises: BaseException | None) -> click.Command:
    """A command with a table and a JUnit file."""

    @click.command(cls=JunitCommand, name="validate")
    @click.argument("table")
    @click.option("--junit")
    def command(table: str, junit: str | None) -> None:
        assert junit is None or "INTERRUPTED" in Path(junit).read_text()
        if raises is not None:
            raise raises

    return command


@pytest.mark.parametrize("named", [["--junit", "{}"], ["--junit={}"]])
def test_a_failure_is_the_result(tmp_path: Path, named: list[str]) -> None:
    """The file says so before the command runs, and then with the word of what was raised."""
    path = tmp_path / "results.xml"
    words = [word.format(path) for word in named]
    CliRunner().invoke(command_that(GuaranteeError("k is broken", "release anew")), ["in.csv", *words])
    text = path.read_text()
    assert GuaranteeError.code in text
    assert "k is broken" in text


def test_what_is_no_error_of_ours_is_named_and_not_quoted(tmp_path: Path) -> None:
    """Its message may hold cells."""
    path = tmp_path / "results.xml"
    CliRunner().invoke(command_that(ValueError("a cell of Miller")), ["in.csv", "--junit", str(path)])
    assert "ValueError" in path.read_text()
    assert "Miller" not in path.read_text()


def test_a_wrong_command_line_is_in_the_file(tmp_path: Path) -> None:
    """The last file of the line, before `--`."""
    path = tmp_path / "results.xml"
    CliRunner().invoke(command_that(None), ["--junit", str(path), "--unknown", "in.csv"])
    assert "USAGE" in path.read_text()


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    """Such as a release that was named by mistake."""
    path = tmp_path / "out.parquet"
    path.write_bytes(b"PAR1 rows")
    result = CliRunner().invoke(command_that(None), ["in.csv", "--junit", str(path)])
    assert isinstance(result.exception, WrongUsage)
    assert path.read_bytes() == b"PAR1 rows"


@dataclass(frozen=True, kw_only=True)
class Left:
    """A method for these tests."""

    name = "left"
    paper = "none"
    summary = "goes left"
    presets = {"paper": {"depth": 1}}  # noqa: RUF012 - a preset table, as methods have it

    epsilon: float = parameter(range="(0, inf)", help="privacy loss")
    depth: int = parameter(default=3, range="[1, inf)", help="levels of the tree")
    choice: str = parameter(default="near", range="near or far", choices=("near", "far"), help="where to")

    def guarantee(self, policy: Policy) -> NoGuarantee:
        """Promise nothing."""
        return NoGuarantee(reason="It is a test.")


@dataclass(frozen=True, kw_only=True)
class Right:
    """Another one, which shares a parameter and has one of the same name."""

    name = "right"
    paper = "none"
    summary = "goes right"

    depth: float = parameter(default=0.5, range="(0, 1]", help="how deep, as a share")
    choice: str = parameter(default="near", range="near or far", choices=("near", "far"), help="where to")
    shuffle: bool = parameter(default=True, range="on or off", help="mix them")
    target: str = parameter(default="x", range="any", help="hidden by the command's own option")

    def guarantee(self, policy: Policy) -> NoGuarantee:
        """Promise nothing."""
        return NoGuarantee(reason="It is a test.")


@pytest.fixture
def two_methods(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only the two methods above are registered."""
    module = types.ModuleType("methods_of_this_test")
    module.Left, module.Right = Left, Right  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in list(METHODS):
        monkeypatch.delitem(METHODS, name)  # type: ignore[arg-type]
    monkeypatch.setitem(METHODS, "left", module.__name__)  # type: ignore[arg-type]
    monkeypatch.setitem(METHODS, "right", module.__name__)  # type: ignore[arg-type]
    for cached in (commands.declared_parameters, commands._options):
        cached.cache_clear()
    yield
    for cached in (commands.declared_parameters, commands._options):
        cached.cache_clear()


@pytest.mark.usefixtures("two_methods")
@pytest.mark.parametrize(
    ("method", "given", "read"),
    [
        ("left", {"depth": "4"}, {"depth": 4}),
        ("right", {"depth": "0.25"}, {"depth": 0.25}),
        ("left", {"epsilon": "1e-3", "depth": None}, {"epsilon": 0.001}),
        ("right", {"shuffle": False}, {"shuffle": False}),
        ("left", {}, {}),
    ],
)
def test_an_option_is_read_as_the_chosen_method_declares_it(
    method: str, given: dict[str, Any], read: dict[str, Any]
) -> None:
    """One option of a name, the type of the method; what was not given is left to the method."""
    found = read_parameters(method, given)

    assert found == read
    assert [type(one) for one in found.values()] == [type(one) for one in read.values()]


@pytest.mark.usefixtures("two_methods")
def test_an_option_of_another_method_is_refused_with_its_owner() -> None:
    """The hint says whose option it is."""
    with pytest.raises(WrongUsage, match="--shuffle is not a parameter of method 'left'") as caught:
        read_parameters("left", {"shuffle": True})
    assert "right" in str(caught.value.hint)


@pytest.mark.usefixtures("two_methods")
@pytest.mark.parametrize("text", ["", "four", "4.5", "0x4", "nan"])
def test_a_text_that_is_no_number_is_refused_with_the_range(text: str) -> None:
    """The message names the option, the hint its range."""
    with pytest.raises(ParameterError, match="--depth") as caught:
        read_parameters("left", {"depth": text})
    assert "[1, inf)" in str(caught.value.hint)


@pytest.mark.usefixtures("two_methods")
def test_the_help_has_a_heading_a_method_and_says_nothing_twice(cli: Any) -> None:
    """Ranges, choices and defaults under each method; what two methods share is listed once and named again."""
    out = cli("release", "--help-all").out
    left, right = out.index("Parameters of left"), out.index("Parameters of right")

    assert left < out.index("--epsilon NUMBER") < right
    assert "privacy loss; (0, inf); required" in out
    assert out.count("--choice near|far") == 1
    assert "as above: --choice" in out[right:]
    assert left < out.index("--depth INTEGER") < right < out.index("--depth NUMBER")
    assert "--shuffle / --no-shuffle" in out[right:]


def test_the_help_of_release_is_one_screen(cli: Any) -> None:
    """The options most people use, and how to see the others; no method is described."""
    lines = cli("release", "--help").out.splitlines()

    assert len(lines) <= 60
    assert {"--k", "--epsilon", "--target", "--dry-run"} <= {word for line in lines for word in line.split()[:1]}
    assert not any(line.startswith("Parameters of") for line in lines)
    assert "release --help-all" in " ".join(lines)


@pytest.mark.parametrize("named", [("--method", "dp-nb"), ("--method=dp-nb",)])
def test_the_help_of_release_has_the_parameters_of_the_named_method(cli: Any, named: tuple[str, ...]) -> None:
    """After the options most people use; a method that does not exist is refused."""
    out = cli("release", *named, "--help").out

    assert all(
        parameter.option in out.partition("Parameters of dp-nb:")[2]
        for parameter in parameters_of(method_class("dp-nb"))
    )
    assert out.count("Parameters of ") == 1
    assert cli("release", "--method", "no-such", "--help").code == 2


@pytest.mark.usefixtures("two_methods")
def test_a_broken_plug_in_does_not_break_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's method that cannot be imported is left out of the help."""
    from importlib.metadata import EntryPoint

    broken = EntryPoint(name="broken", value="no_such_module:Method", group="anonkit.methods")
    monkeypatch.setattr("anonkit.methods._third_party", lambda: (broken,))

    assert set(declared_parameters()) == {"left", "right"}


@pytest.mark.usefixtures("two_methods")
def test_methods_lists_and_describes(cli: Any) -> None:
    """All methods with a line each, or all about one."""
    listed, one, document = cli("methods"), cli("methods", "left"), cli("methods", "left", "--json").document

    assert "goes left" in listed.out
    assert listed.out.index("Which one to take") < listed.out.index("goes left")
    assert "goes right" in listed.out
    assert "privacy loss; (0, inf); required" in one.out
    assert "depth = 1" in one.out
    assert document["ok"] is True
    assert document["presets"] == {"paper": {"depth": 1}}
    assert document["guarantee"] is None  # epsilon has no default
    assert "It is a test." in cli("methods", "right").out
    assert document["parameters"][0] == {
        "name": "epsilon", "option": "--epsilon", "type": "number", "required": True, "default": None,
        "range": "(0, inf)", "choices": [], "help": "privacy loss",
    }  # fmt: skip
    assert {each["name"] for each in cli("methods", "--json").document["methods"]} == {"left", "right"}


@pytest.mark.quick_cases("rfka", "mdav", "rr", "dp-forest", "dp-marginals", "dp-tables", "safepub")
@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_of_every_method_is_an_option(cli: Any, method: str) -> None:
    """Each is in the whole help of `release` and in `methods NAME`; no option of the command hides one."""
    help_text, described = cli("release", "--help-all").out, cli("methods", method).out
    own = cli("methods", method, "--json").document["parameters"]

    assert [one["name"] for one in own] == [one.name for one in parameters_of(method_class(method))]
    for one in own:
        assert one["option"] in help_text
        assert one["option"] in described
        ran = cli("release", "absent.csv", "out.parquet", "--method", method, one["option"], "\x00")
        assert "no such option" not in ran.err


def test_an_unknown_method_is_refused_with_the_closest(cli: Any) -> None:
    """Exit code 2 and a suggestion, for `release` and for `methods`."""
    for ran in (cli("methods", "mondrain"), cli("release", "in.csv", "out.parquet", "--method", "mondrain")):
        assert ran.code == 2
        assert "did you mean 'mondrian'?" in ran.err


@pytest.mark.slow
def test_the_report_is_shown_in_plain_words(cli: Any, released: Path) -> None:
    """The claim, its limits and the key figures, from the data file, a sidecar, or the report alone."""
    out = cli("report", released).out
    for words in (
        "Privacy report",
        "Promise",
        "narrow",
        "Limits",
        "Homogeneity",
        "Checked",
        "columns are released",
        "Risk",
    ):
        assert words in out
    assert cli("report", released.with_name("out.params.json")).out == out
    released.unlink()
    assert cli("report", released.with_name("out.report.json")).out == out


@pytest.mark.slow
def test_a_profile_is_shown_and_is_a_document(cli: Any, released: Path) -> None:
    """A checklist with marks; the same as an object; nothing else is made beside it, and no other name passes."""
    ran = cli("report", released, "--profile", "gdpr-research")
    assert ran.code == 0
    assert "✓ Singling out." in ran.out
    assert "no verdict of law" in ran.out
    found = cli("report", released, "--profile", "gdpr-research", "--json").document["profile"]
    assert {item["state"] for item in found["items"]} <= {"evidence", "open", "against"}
    assert cli("report", released, "--profile", "gdpr").code == 2
    assert cli("report", released, "--profile", "ehds", "--html", "page.html").code == 2


@pytest.mark.slow
def test_the_report_as_a_document(cli: Any, released: Path) -> None:
    """--json has the report as it is in the file."""
    document = cli("report", released, "--json").document

    assert document["ok"] is True
    assert document["report"] == json.loads(released.with_name("out.report.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_page_is_rendered_anew(cli: Any, released: Path) -> None:
    """--html writes the page elsewhere, never over a file of the release, and replaces with --force only."""
    page = released.with_name("review.html")
    assert cli("report", released, "--html", page).code == 0
    assert page.read_text(encoding="utf-8") == released.with_name("out.report.html").read_text(encoding="utf-8")
    assert cli("report", released, "--html", page).code == 2
    assert cli("report", released, "--html", page, "--force").code == 0
    assert cli("report", released, "--html", released.with_name("out.report.html"), "--force").code == 2
    assert cli("validate", released).code == 0


def test_a_page_with_an_audit_is_kept_from_the_release(cli: Any, table: Path, released: Path) -> None:
    """For its owner alone, in another folder, and only with the audit of this very release."""
    private = table.with_name("private")
    assert cli("audit", released, "--original", table, "--attacks", "10", "--owner-report", private).code == 0
    audit, page = private / "audit.owner.report.json", private / "review.html"
    asked = ("report", released, "--audit", audit, "--html")
    assert cli(*asked, page).code == 0
    assert "DO NOT PUBLISH" in page.read_text(encoding="utf-8")
    assert page.stat().st_mode & 0o777 == 0o600
    beside = cli(*asked, released.with_name("review.html"))
    assert beside.code == 2
    assert "is the folder of the release" in beside.err
    assert cli("report", released, "--audit", audit).code == 2
    released.write_bytes(released.read_bytes() + b"x")
    assert "is no audit of this release" in cli(*asked, private / "other.html").err


@pytest.mark.slow
def test_a_page_may_show_what_changed(cli: Any, table: Path, released: Path) -> None:
    """--html with --diff."""
    page = table.with_name("changed.html")
    assert cli("report", released, "--diff", released, "--html", page).code == 0
    assert "the same promise" in page.read_text(encoding="utf-8")


@pytest.mark.quick_cases("*report/9*")
@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": "anonkit-report/1"}', '{"format": "anonkit-report/9"}']
)
def test_a_damaged_report_is_refused(cli: Any, released: Path, content: str) -> None:
    """Exit code 3 and the file's name."""
    released.with_name("out.report.json").write_text(content, encoding="utf-8")
    ran = cli("report", released)

    assert ran.code == 3
    assert "out.report.json" in ran.err
    assert "internal error" not in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_examples_and_explains_every_option(cli: Any, command: str) -> None:
    """`COMMAND --help`: a sentence, lines to paste, then options, each with a text."""
    ran = cli(command, "--help")
    lines = [line.strip() for line in ran.out.splitlines()]
    examples = [line for line in lines if f"anonkit {command}" in line and not line.startswith("Usage")]

    assert ran.code == 0
    assert len(examples) >= 2
    assert lines.index(examples[0]) <= 5
    found = anonkit.get_command(None, command)  # type: ignore[arg-type]
    assert found is not None
    assert all(one.help for one in found.params if isinstance(one, click.Option))


def test_every_short_help_is_whole(cli: Any) -> None:
    """No sentence in the list of commands is cut off."""
    out = cli("--help").out

    assert "..." not in out.partition("Commands:")[2]
    assert re.findall(r"^  (\w+)  ", out, flags=re.MULTILINE) == list(COMMANDS)


def test_an_unknown_command_is_refused_with_the_closest(cli: Any) -> None:
    """Exit code 2 and a suggestion, in JSON too."""
    ran = cli("relese", "--json")

    assert ran.code == 2
    assert ran.document["hint"] == "did you mean 'release'?"
    assert cli("relese").err.splitlines() == ["Error: no such command: relese", "Hint: did you mean 'release'?"]


def test_a_mistyped_option_is_refused_with_the_closest(cli: Any, table: Path) -> None:
    """Exit code 2 and a suggestion, for the command's own options and the methods'."""
    for typed, meant in (("--polcy", "--policy"), ("--max-supression", "--max-suppression")):
        ran = cli("release", table, "out.parquet", typed, "1")
        assert ran.code == 2
        assert ran.err == f"Error: no such option: {typed}\nHint: did you mean {meant}?\n"


def test_the_version_is_shown(cli: Any) -> None:
    """`--version` names the program and its version."""
    from anonkit import __version__

    assert cli("--version").out == f"anonkit, version {__version__}\n"
