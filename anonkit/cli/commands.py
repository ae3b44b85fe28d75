# SPDX-License-Identifier: Apache-2.0
"""The group of all commands, and the classes of commands: short help, a `--junit` file, parameters of methods.

The group is what `anonkit --help` lists. Each command is imported at its first use.

* `ShortHelp`: help on one screen. What few people need, such as how a table is read, is listed by `--help-all` alone.
* `JunitCommand`: its file is rewritten whatever happens, so that no older result is taken for this one.
* `MethodCommand`: options for the parameters of every method, generated from the methods' own declarations. Methods
  that have a parameter of the same name share one option; what is given is read as the chosen method declares it. The
  methods are imported when the options are needed, not before: `anonkit --help` stays instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit import __version__
from anonkit.cli.files import write_text
from anonkit.cli.outcome import WrongUsage
from anonkit.errors import AnonkitError, ParameterError, did_you_mean
from anonkit.redaction import redacted

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from anonkit.parameters import Parameter


COMMANDS = {
    "demo": "Try it without data: simulated customers, end to end.",
    "init": "Draft a policy.toml to read and correct.",
    "methods": "List the methods, or all about one.",
    "release": "Release a table with a privacy guarantee that is checked first.",
    "validate": "Recount a release and compare it with its promise.",
    "report": "Show the privacy report of a release.",
    "export": "Write a verified release in another form, or into a database.",
    "compare": "Compare methods by risk and by what models keep.",
    "audit": "Attack a release, for its owner's eyes only.",
    "risk": "Find the columns that make people unique, before any release.",
    "desk": "Decide on a release in a page on this machine.",
    "reconstruct": "Learn a model from a release with noise.",
    "apply": "Recode the next batch as an earlier release was.",
    "run": "Make the release or the experiment of a recipe.",
    "ledger": "Show releases and budget of every dataset; create a ledger.",
    "completion": "Print the completion script of a shell.",
}
"""Names of the commands, in the order of the work, with the first line of their help: the list of commands is shown
without importing any. Each is a module here with the click command `command`."""


class _Commands(click.Group):
    """The commands, each imported at its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"anonkit.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise WrongUsage(f"no such command: {args[0]}", did_you_mean(args[0], COMMANDS))
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="anonkit")
def anonkit() -> None:
    """Share tables about people with a privacy guarantee that has been checked.

    \b
    anonkit demo                                  # no data needed: from a table to its report
    anonkit release --k 10 in.csv out.parquet     # a k-anonymous release, verified before it appears
    anonkit validate out.parquet                  # does it still keep its promise?

    A release is a Parquet file with sidecars: parameters for its consumers, a privacy report to sign, a
    descriptor with the hash of every file.

    Exit codes: 0 done; 1 a promise is not met (nothing written); 2 wrong usage; 3 could not do or check it;
    4 an optional part is not installed; 130 interrupted.
    """


HELP_ALL = "anonkit.help_all"
"""Key of a context whose help lists everything."""
_LEFT_OUT = {
    "how a table is read": frozenset(
        ["encoding", "query", "sheet", "header_row", "header", "names", "format", "decimal", "delimiter", "skip_rows"]
    ),
    "where rows are counted": frozenset(["engine", "spark_master", "spark_conf", "search_rows", "part_rows"]),
    "the ledger": frozenset(
        [
            "accept_joint_k",
            "adopt",
            "only_new",
            "released_before",
            "ledger",
            "no_ledger",
            "new_ledger",
            "budget_delta",
            "budget_neighbours",
            "budget_unit",
        ]
    ),
}
"""Options that few people need, by what they are about."""


def _show_all(ctx: click.Context, option: click.Parameter, is_set: bool) -> None:
    if is_set and not ctx.resilient_parsing:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class ShortHelp(click.Command):
    """A command whose `--help` leaves out what few people need, and says so; `--help-all` has everything."""

    help_all = "Show every option."
    """Help of `--help-all`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help=self.help_all,
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and how many are left out; all of them, if requested."""
        if ctx.meta.get(HELP_ALL):
            super().format_options(ctx, formatter)
            return
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        left_out = [one for one in options if any(one.name in names for names in _LEFT_OUT.values())]
        records = [one.get_help_record(ctx) for one in options if one not in left_out]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        about = [words for words, names in _LEFT_OUT.items() if any(one.name in names for one in left_out)]
        formatter.write_paragraph()
        formatter.write_text(f"{len(left_out)} more, on {', '.join(about)}: {ctx.command_path} --help-all.")


_JUNIT = "--junit"
_JUNIT_BEGINS = b"<testsuite"
_JUNIT_HEAD = 4096
"""Bytes in which a JUnit file states what it is."""


class JunitCommand(ShortHelp):
    """A command whose first argument is validated into the file that `--junit` names.

    An error is in the file before the command line is understood: what was killed, or never began, has failed. What
    went wrong replaces it, and the command itself writes the result.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Begin the file, then read the command line."""
        path = _junit_path(args)
        if path is None or ctx.resilient_parsing:  # a shell that completes words runs nothing
            return super().parse_args(ctx, args)
        _begin_junit(path, "INTERRUPTED", "the validation has not come to its end")
        try:
            return super().parse_args(ctx, list(args))
        except click.ClickException as error:
            _begin_junit(path, "USAGE", redacted(" ".join(error.format_message().split())))
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what it raises is its result."""
        path = ctx.params.get("junit")
        try:
            return super().invoke(ctx)
        except BaseException as error:
            if path is not None:
                with suppress(AnonkitError):  # the file could be written before; what went wrong is shown
                    _write_junit(Path(path), str(ctx.params.get("table")), *_kind_and_message(error))
            raise


def _junit_path(args: Sequence[str]) -> Path | None:
    """Return the file that a command line names, the last one as of every option; it may be wrong otherwise."""
    options = args[: args.index("--")] if "--" in args else args
    named = None
    for at, word in enumerate(options):
        if word.startswith(f"{_JUNIT}="):
            named = Path(word.partition("=")[2])
        elif word == _JUNIT and at + 1 < len(options):
            named = Path(options[at + 1])
    return named


def _begin_junit(path: Path, code: str, message: str) -> None:
    """Write an error in place of an older result; any other file is left alone, such as a release named by mistake."""
    try:
        with path.open("rb") as file:
            head = file.read(_JUNIT_HEAD)
    except OSError:  # there is none, or it cannot be written either
        head = b""
    if head and _JUNIT_BEGINS not in head:
        raise WrongUsage(f"{redacted(str(path))!r} is there, and is no JUnit file", f"{_JUNIT} results.xml")
    _write_junit(path, "anonkit validate", code, message)


def _write_junit(path: Path, name: str, code: str, message: str) -> None:
    from anonkit.checks.requirements import junit_error

    write_text(path, junit_error(redacted(name), code, message), force=True)


def _kind_and_message(error: BaseException) -> tuple[str, str]:
    """Return word and message of an error; of one that is not anonkit's only what it is, since it may quote cells."""
    if isinstance(error, AnonkitError):
        return error.code, error.for_command_line()[0]
    if isinstance(error, KeyboardInterrupt):
        return "INTERRUPTED", "interrupted"
    return "INTERNAL", type(error).__name__


_ALONE = "anonkit.method"  # where a context keeps the one method whose options are enough
_NAMED = "anonkit.named_method"  # and the one that the command line names

Given = str | bool | tuple[str, ...]
"""A value of the command line, before it is parsed."""

KIND_NAMES = {int: "INTEGER", float: "NUMBER", str: "TEXT", tuple: "TEXT"}


@cache
def declared_parameters() -> Mapping[str, tuple[Parameter, ...]]:
    """Return the parameters of every method that can be imported, by method name."""
    from anonkit.methods import METHODS, method_names, method_parameters

    parameters = {}
    for name in method_names():
        try:
            parameters[name] = method_parameters(name)
        except Exception:
            if name in METHODS:
                raise
            # Somebody else's broken plug-in fails when its method is used, not before.
    return parameters


def option_record(parameter: Parameter) -> tuple[str, str]:
    """Return a parameter as help texts list it: the option, and what it means with its range and default."""
    name = parameter.option[2:]
    if parameter.kind is bool:
        return f"--{name} / --no-{name}", "; ".join([parameter.help, _default_words(parameter)])
    if parameter.choices:
        return f"--{name} {'|'.join(parameter.choices)}", "; ".join([parameter.help, _default_words(parameter)])
    return f"--{name} {KIND_NAMES.get(parameter.kind, 'TEXT')}", "; ".join(
        [parameter.help, parameter.range, _default_words(parameter)]
    )


def _default_words(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    if parameter.default is None or parameter.default == ():
        return "default none"
    if isinstance(parameter.default, bool):
        return f"default {'on' if parameter.default else 'off'}"
    return f"default {parameter.default:g}" if isinstance(parameter.default, float) else f"default {parameter.default}"


class MethodCommand(ShortHelp):
    """A command that has the parameters of all methods as options, after its own.

    Its help lists the options that most people use, and the parameters of the method that is named before `--help`;
    `--help-all` lists everything.

    Parameters
    ----------
    usual : mapping of str, optional
        Options that `--help` lists: those of the command, with an empty text, and parameters of methods, with their
        help.
    """

    help_all = "Show every option, and the parameters of every method."

    def __init__(self, *args: Any, usual: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.usual = usual or {}

    def own_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own arguments and options."""
        return super().get_params(ctx)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return all arguments and options; a method's parameter gives way to an option of the command."""
        own = self.own_params(ctx)
        taken = {option_.name for option_ in own}
        alone = ctx.meta.get(_ALONE)
        options = _options() if alone is None else _options_of([_parameters_of(alone)])
        return [*own, *(option for option in options if option.name not in taken)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; the other methods are not even imported when it has none of their options."""
        if not ctx.resilient_parsing:  # a completion offers everything
            ctx.meta[_NAMED] = named = _named_method(args)
            ctx.meta[_ALONE] = self._alone(ctx, args, named)
        return super().parse_args(ctx, args)

    def _alone(self, ctx: click.Context, args: Sequence[str], named: str | None) -> str | None:
        """Return the method that has all options given; None when it is not so plain."""
        from anonkit.methods import METHODS, default_method

        own = [option for option in self.own_params(ctx) if isinstance(option, click.Option)]
        given = {word.partition("=")[0] for word in args if word.startswith("--")}
        chosen = named or default_method([name[2:] for name in given], without_target="--no-target" in given)
        if chosen not in METHODS:
            return None
        known = {name for option in (*own, *_options_of([_parameters_of(chosen)])) for name in _names(option)}
        return chosen if given <= known else None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options and those of the named method; all of them, a section a method, if requested."""
        if ctx.meta.get(HELP_ALL):
            return self._format_all(ctx, formatter)
        own = {name: option for option in self._own_options(ctx) for name in option.opts}
        with formatter.section("Options most people use"):
            usual = {**self.usual, "--help": "", "--help-all": ""}
            formatter.write_dl([_usual_record(ctx, own, name, text) for name, text in usual.items()])
        named = ctx.meta.get(_NAMED)
        if named is not None:
            with formatter.section(f"Parameters of {named}"):
                formatter.write_dl([option_record(parameter) for parameter in _parameters_of(named)])
        else:
            formatter.write_paragraph()
            formatter.write_text(
                f"{len(own) - len(self.usual)} more: {ctx.command_path} --help-all. "
                f"Parameters of a method: {ctx.command_path} --method NAME --help."
            )
        return None

    def _own_options(self, ctx: click.Context) -> list[click.Option]:
        return [parameter for parameter in self.own_params(ctx) if isinstance(parameter, click.Option)]

    def _format_all(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = [option.get_help_record(ctx) for option in self._own_options(ctx)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        seen: set[Parameter] = set()
        for method, parameters in declared_parameters().items():
            new = [parameter for parameter in parameters if parameter not in seen]
            with formatter.section(f"Parameters of {method}"):
                if new:
                    formatter.write_dl([option_record(parameter) for parameter in new])
                if len(new) < len(parameters):
                    known = ", ".join(parameter.option for parameter in parameters if parameter in seen)
                    formatter.write_text(f"as above: {known}")
            seen.update(new)


def _usual_record(ctx: click.Context, own: Mapping[str, click.Option], name: str, text: str) -> tuple[str, str]:
    """Return an option of the command as its help lists it, or a parameter of the default method with its help."""
    if name in own:
        return own[name].get_help_record(ctx) or (name, "")
    from anonkit.methods import default_method

    parameters = _parameters_of(default_method([name[2:]], without_target=False))
    return next(option_record(parameter)[0] for parameter in parameters if parameter.option == name), text


def _named_method(args: Sequence[str]) -> str | None:
    """Return the method that the words of a command line name last; None when they name none."""
    named = None
    for word, following in zip(args, [*args[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name == "--method":
            named = value if equals else following
    return named


def read_parameters(method: str, given: Mapping[str, Given | None]) -> dict[str, Any]:
    """Return the parameters that were given, as the chosen method declares them.

    Raises
    ------
    WrongUsage
        The method does not have one of them, or one cannot be read.
    ParameterError
        No method has this name.
    """
    own = {parameter.name: parameter for parameter in _parameters_of(method)}
    values = {}
    for name, text in given.items():
        if text is None or text == ():  # an option that may be repeated, and was not given
            continue
        if name not in own:
            raise _not_its_own(method, name)
        values[name] = _read(own[name], text)
    return values


def _read(parameter: Parameter, text: Given) -> object:
    if isinstance(text, bool | tuple) or parameter.kind is str:
        return text
    try:
        return parameter.kind(text)
    except ValueError:
        kind = "a whole number" if parameter.kind is int else "a number"
        raise ParameterError(
            f"{parameter.option} ({text}) must be {kind}", f"in {parameter.range}: {parameter.help}"
        ) from None


def _not_its_own(method: str, name: str) -> WrongUsage:
    from anonkit.parameters import option_name

    option = option_name(name)
    owners = [
        other
        for other, parameters in declared_parameters().items()
        if any(parameter.name == name for parameter in parameters)
    ]
    return WrongUsage(
        f"{option} is not a parameter of method {method!r}",
        f"{option} belongs to {', '.join(owners)}; anonkit methods {method} lists what {method} has",
    )


def _parameters_of(method: str) -> tuple[Parameter, ...]:
    from anonkit.methods import method_parameters

    return method_parameters(method)


def _names(option: click.Option) -> list[str]:
    return [*option.opts, *option.secondary_opts]


@cache
def _options() -> Sequence[click.Option]:
    return _options_of(declared_parameters().values())


def _options_of(declared: Iterable[Sequence[Parameter]]) -> Sequence[click.Option]:
    sharing: dict[str, list[Parameter]] = {}
    for parameters in declared:
        for parameter in parameters:
            sharing.setdefault(parameter.name, []).append(parameter)
    return [_option(same) for same in sharing.values()]


def _option(same: Sequence[Parameter]) -> click.Option:
    """Return the option that the parameters of one name share."""
    first = same[0]
    if first.kind is bool:
        return click.Option([f"{first.option}/--no-{first.option[2:]}"], default=None, help=first.help)
    if first.kind is tuple:
        return click.Option([first.option, first.name], multiple=True, help=first.help)
    words = list(dict.fromkeys(word for parameter in same for word in parameter.choices))

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return click.Option([first.option, first.name], default=None, help=first.help, shell_complete=complete)
