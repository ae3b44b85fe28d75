# SPDX-License-Identifier: Apache-2.0
"""Parameters of methods as options: generated, shared by name, read as the chosen method declares them."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from anonkit.cli import method_options
from anonkit.cli.method_options import declared_parameters, read_parameters
from anonkit.cli.outcome import WrongUsage
from anonkit.errors import ParameterError
from anonkit.methods import METHODS, method_class
from anonkit.parameters import parameter, parameters_of
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import NoGuarantee


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
    for cached in (method_options.declared_parameters, method_options._options):
        cached.cache_clear()
    yield
    for cached in (method_options.declared_parameters, method_options._options):
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
