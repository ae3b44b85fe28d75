# SPDX-License-Identifier: Apache-2.0
"""Options shared by several commands, with the same meaning in each, and the library values built from them.

The options of one value are declared together (`option_group`): a command has one argument for all of them, and a new
option is a field of the value and a line here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from anonkit.cli.boundary import one_line
from anonkit.cli.outcome import WrongUsage

if TYPE_CHECKING:
    from anonkit.checks.population_risk import AgainstPopulation
    from anonkit.engines import Local, Spark
    from anonkit.ledger.account import Account
    from anonkit.ledger.booked_releases import Entry
    from anonkit.pipeline.release_space import Output
    from anonkit.policy.declaration import Policy

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Option = Callable[[Any], Any]

MISSING = ("category", "drop", "error")
TASKS = ("classification", "regression")


def option_group(name: str, build: Callable[..., object], *options: _Option) -> Callable[[_Command], _Command]:
    """Return a decorator that gives a command some options, and one argument that is made of all of them.

    Parameters
    ----------
    name : str
        Of the argument.
    build : callable
        Given the values of the options by their names; it imports what it needs when it is called.
    *options
        Decorators of click, in the order of `--help`.
    """

    def bare() -> None:
        """Take the options, to get their names."""

    for option in options:
        option(bare)
    names = [parameter.name for parameter in bare.__click_params__]  # type: ignore[attr-defined]

    def decorated(command: _Command) -> _Command:
        @wraps(command)
        def with_value(*arguments: Any, **given: Any) -> Any:
            fields = {option_name: given.pop(option_name) for option_name in names}
            return command(*arguments, **{name: build(**fields)}, **given)

        for option in reversed(options):
            option(with_value)
        return with_value  # type: ignore[return-value]

    return decorated


# --- options of their own --------------------------------------------------------------------------------------------

json_option = click.option(
    "--json", "as_json", is_flag=True, expose_value=False, help="One JSON object on stdout; errors too."
)
"""Only declared here: the boundary looks for it, since it must know before the other options are understood."""

quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show errors only.")

force_option = click.option("--force", is_flag=True, help="Replace what is there already.")

domains_min_people_option = click.option(
    "--domains-min-people",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    metavar="INTEGER",
    help="With --domains-from-data: people (rows without a unit) that share a category, or lie beyond a bound.",
)

budget_option = click.option(
    "--budget", type=float, metavar="NUMBER", help="Total epsilon allowed for the dataset, over all releases."
)

budget_delta_option = click.option(
    "--budget-delta", type=float, metavar="NUMBER", help="Total delta allowed for the dataset, over all releases."
)

budget_neighbours_option = click.option(
    "--budget-neighbours",
    type=click.Choice(["added or removed", "replaced"]),
    help="What the budget protects: a record that is added or removed, or one whose values change. "
    "[default: by the releases]",
)

budget_unit_option = click.option(
    "--budget-unit",
    metavar="COLUMN",
    help="With --budget-neighbours: the column of the person; none where each row is protected alone.",
)


examples_option = click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="INTEGER",
    help="Show so many rows of the source in the dossier, before and after; they are cells of people.",
)


release_as_is_option = click.option(
    "--release-as-is",
    metavar="COLUMN",
    multiple=True,
    help="Release this column unchanged although its cells look like identifiers or number the rows; repeatable.",
)


keep_option = click.option(
    "--keep",
    metavar="COLUMN",
    multiple=True,
    help="Column that must stay, with two labels or more (k-anonymity); repeatable.",
)


recipients_option = click.option(
    "--recipients",
    metavar="TEXT",
    multiple=True,
    help="Who may receive the table, as report and page will say; repeatable. [default: the policy's]",
)


def _encoding(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    from anonkit.policy.side_files import encoding_named

    return None if given is None else encoding_named(given)


encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    callback=_encoding,
    help="Encoding of CSV, TSV and JSON Lines, such as cp1252 or utf-16; default: the policy's, else utf-8.",
)
"""Encoding of the text files of a command."""


task_option = click.option(
    "--task",
    type=click.Choice(TASKS),
    help="Whether the target is a class or a number to predict. [default: by its values]",
)


seed_option = click.option(
    "--seed", type=int, metavar="INTEGER", help="Known randomness, for tests; needs --not-for-release."
)

not_for_release_option = click.option(
    "--not-for-release", is_flag=True, help="With --seed: every file says that it must not be handed out."
)


def refuse_seed_alone(seed: int | None, not_for_release: bool) -> None:
    """Refuse known randomness of a release that may be handed out, and the other way round.

    Raises
    ------
    WrongUsage
    """
    if (seed is not None) != not_for_release:
        raise WrongUsage("--seed and --not-for-release go together", "who knows the seed can undo the noise")


# --- what the owner reads ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OwnerAsReader:
    """The presence of the owner as the reader."""

    is_declared: bool
    """The owner declared so."""
    is_at_terminal: bool
    """No option declares it, and somebody sits at a terminal whose lines no log keeps."""

    def reads(self, *, quiet: bool) -> bool:
        """Return True if the owner's measures are shown."""
        return self.is_declared or (self.is_at_terminal and not quiet)

    def has_it_measured(self, *, quiet: bool, dry_run: bool, method: str | None = None) -> bool:
        """Return True if the source is measured for the owner.

        For a dry run under noise only on request: it draws noise then, and what follows from the draws may end it.

        Parameters
        ----------
        method : str, optional
            Name of the method, where one is about to search or to draw.
        """
        if self.is_declared or not self.reads(quiet=quiet):
            return self.is_declared
        return not dry_run or (method is not None and not _may_draw_noise(method))


def _may_draw_noise(method: str) -> bool:
    from anonkit.methods import method_class

    return not hasattr(method_class(method), "find_recoding")  # a search for a recoding draws none


def _reader(owner: bool | None) -> OwnerAsReader:
    return OwnerAsReader(is_declared=owner is True, is_at_terminal=owner is None and _is_interactive())


owner_option = option_group(
    "reader",
    _reader,
    click.option(
        "--owner/--no-owner",
        default=None,
        help="Show the owner's figures too, on stderr: from the source table, not to be published. [default: where "
        "stdin and stderr are terminals and CI is not set]",
    ),
)
"""The argument `reader`: an `OwnerAsReader`."""


# --- how a source is read ---------------------------------------------------------------------------------------------


reading_options = option_group(
    "how",
    dict,
    click.option("--query", metavar="SQL", help="SQL query to a database, in place of ?table= in its address."),
    click.option("--sheet", metavar="NAME", help="Sheet of a workbook; default: its only one."),
    click.option(
        "--header-row",
        type=click.IntRange(min=1),
        metavar="ROW",
        help="Row of the sheet that holds the names of the columns. [default: 1]",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="The first line of CSV or TSV, or row of a sheet, holds names, or is a record. [default: by its cells]",
    ),
    click.option("--names", metavar="A,B", help="Names of the columns of a table without a header; default: c1, c2, …"),
    click.option(
        "--format",
        metavar="NAME",
        help="Format of a source whose name does not say it, and of `-`: csv, tsv, jsonl, parquet, arrow, excel, sav, "
        "por, dta, sas7bdat, xpt, delta, iceberg.",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal mark of numbers in CSV and TSV. [default: the policy's, else .]",
    ),
    click.option(
        "--delimiter",
        metavar="CHAR",
        help="Separator of the cells of CSV and TSV: one character, or tab. [default: by the header]",
    ),
    click.option(
        "--skip-rows",
        type=click.IntRange(min=0),
        metavar="N",
        help="Lines above the header of CSV and TSV, or rows of a sheet. [default: found]",
    ),
)
"""The argument `how`: `ReadAs`, with which `source_at` makes the source of a path or an address."""


# --- what the owner declares ------------------------------------------------------------------------------------------


def _policy(
    policy: str | None,
    target: str | None,
    no_target: bool,
    task: str | None,
    unit: str | None,
    identifier: tuple[str, ...],
    sensitive: tuple[str, ...],
    insensitive: tuple[str, ...],
    release_as_is: tuple[str, ...],
    keep: tuple[str, ...],
    recipients: tuple[str, ...],
    missing: str | None,
    encoding: str | None,
) -> Policy:
    """Return the declared policy with the roles and the treatment of missing values from the command line on top."""
    from dataclasses import replace

    from anonkit.policy.column_declarations import Missing
    from anonkit.policy.declaration import Policy

    declared = Policy() if policy is None else Policy.load(policy)
    declared = declared if missing is None else replace(declared, missing=Missing(missing))
    declared = declared if encoding is None else replace(declared, encoding=encoding)
    with_roles = declared.with_roles(
        target=target,
        no_target=no_target,
        task=task,
        unit=None if unit is None else unit.split(","),
        identifiers=identifier,
        sensitive=sensitive,
        insensitive=insensitive,
    )
    return with_roles.releasing_as_is(release_as_is).keeping(keep).meant_for(recipients)


policy_options = option_group(
    "policy",
    _policy,
    click.option("--policy", metavar="FILE", help="What the owner declares (TOML); `anonkit init` drafts one."),
    click.option(
        "--target",
        metavar="COLUMN",
        help="Column to predict; default: the last one, if it evidently is a label.",
    ),
    click.option("--no-target", is_flag=True, help="No column is predicted: keep detail in all of them."),
    task_option,
    click.option(
        "--unit",
        metavar="COLUMN[,COLUMN]",
        help="Column, or columns, of the person: k counts people. none: no one has two rows.",
    ),
    click.option(
        "--identifier", metavar="COLUMN", multiple=True, help="Column that names a person; never released; repeatable."
    ),
    click.option(
        "--sensitive",
        metavar="COLUMN",
        multiple=True,
        help="Column that nobody may learn about a person, maybe the target; repeatable.",
    ),
    click.option(
        "--insensitive", metavar="COLUMN", multiple=True, help="Harmless column, published unchanged; repeatable."
    ),
    release_as_is_option,
    keep_option,
    recipients_option,
    click.option(
        "--missing",
        type=click.Choice(MISSING),
        help="A missing cell counts as a value of its own (the default), drops its row, or stops the release.",
    ),
    encoding_option,
)
"""The argument `policy`: a `Policy`."""


def _domains_min_people(domains_from_data: bool, domains_min_people: int) -> int | None:
    return domains_min_people if domains_from_data else None


table_domains_options = option_group(
    "domains_min_people",
    _domains_min_people,
    click.option(
        "--domains-from-data",
        is_flag=True,
        help="Take undeclared categories and bounds from the table. Weakens the guarantee: it then holds only if they "
        "are public.",
    ),
    domains_min_people_option,
)
"""The argument `domains_min_people`: None where no domain is read from the table."""


# --- what is known of the population ---------------------------------------------------------------------------------


def _known(**given: Any) -> AgainstPopulation:
    from anonkit.checks.population_risk import AgainstPopulation

    return AgainstPopulation.known(**given)


_POPULATION = (
    click.option(
        "--population",
        metavar="FILE",
        help="File of the population: one row per person, with the same quasi-identifiers.",
    ),
    click.option(
        "--population-size", type=click.IntRange(min=1), metavar="INTEGER", help="How many people the population has."
    ),
    click.option(
        "--sampling-fraction",
        type=float,
        metavar="NUMBER",
        help="Share of the population that is in the table, such as 0.01.",
    ),
)

population_options = option_group("known", _known, *_POPULATION)
"""The argument `known`: an `AgainstPopulation`."""

k_map_options = option_group(
    "known",
    _known,
    *_POPULATION,
    click.option(
        "--k-map",
        type=click.IntRange(min=2),
        metavar="INTEGER",
        help="With --population: each released group has at least so many people of it.",
    ),
)
"""The same with the requirement on the file."""


# --- whose budget is charged ------------------------------------------------------------------------------------------


def _account(ledger: str | None, no_ledger: bool, **fields: Any) -> Account:
    from anonkit.ledger.account import Account, Where

    if ledger is not None and no_ledger:
        raise WrongUsage("--ledger and --no-ledger exclude each other")
    if no_ledger and fields["new_ledger"]:
        raise WrongUsage("--new-ledger and --no-ledger exclude each other")
    return Account(
        ledger=None if no_ledger else Where.FOUND if ledger is None else ledger,
        was_handed_out=_was_handed_out if _is_interactive() else None,
        **fields,
    )


def _is_interactive() -> bool:
    """Return True if somebody sits at a terminal who can answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and not os.environ.get("CI")


def _was_handed_out(entry: Entry) -> bool:
    """Ask the owner about a release whose files are gone or replaced."""
    made = f"release {entry.number} of dataset {entry.dataset!r} ({entry.output}, made {entry.created[:16]})"
    return click.confirm(f"The ledger has {one_line(made)}. Was it handed out?", default=False, err=True)


_ACCOUNT = (
    click.option("--dataset", metavar="NAME", help="Dataset whose budget is spent; default: the policy's name for it."),
    click.option(
        "--accept-joint-k",
        type=click.IntRange(min=1),
        metavar="N",
        help="Smallest group allowed when combined with earlier k-anonymous releases. [default: joint_k, else k]",
    ),
    click.option(
        "--only-new",
        is_flag=True,
        help="Release only people who are in no earlier release of the dataset; needs --unit.",
    ),
    click.option(
        "--released-before",
        metavar="FILE",
        help="With --only-new: the table that was released before, where the ledger does not remember its people.",
    ),
    click.option(
        "--ledger",
        metavar="PLACE",
        help="Where releases are booked: a file, or postgresql://…; default: the policy's, else ANONKIT_LEDGER, else "
        "one found beside OUT, else yours.",
    ),
    click.option(
        "--no-ledger",
        is_flag=True,
        help="Keep no record: later releases of these people will not be compared with this one.",
    ),
    click.option(
        "--new-ledger",
        is_flag=True,
        help="Use a ledger that does not know this folder's earlier releases; the ledger and the report say so.",
    ),
)

account_options = option_group(
    "account", _account, *_ACCOUNT, budget_option, budget_delta_option, budget_neighbours_option, budget_unit_option
)
"""The argument `account`: an `Account`."""

account_without_budget_options = option_group("account", _account, *_ACCOUNT)
"""The same for releases that spend no epsilon."""


# --- what reads the table ---------------------------------------------------------------------------------------------


def _engine(engine: str, spark_master: str | None, spark_conf: dict[str, str], **settings: int | None) -> Local | Spark:
    from anonkit.engines.engine_choice import engine_choice

    return engine_choice(engine, master=spark_master, conf=spark_conf, **settings)


def _settings(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [setting.partition("=") for setting in given]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise click.BadParameter("each must be key=value, such as spark.executor.memory=8g")
    return {key: value for key, _, value in pairs}


_ENGINE = (
    click.option(
        "--engine",
        metavar="NAME",
        default="local",
        show_default=True,
        help="Where rows are read and counted: local, spark.",
    ),
    click.option(
        "--spark-master",
        metavar="URL",
        help="Where Spark runs; default: its own settings, else all cores of this machine.",
    ),
    click.option(
        "--spark-conf", metavar="KEY=VALUE", multiple=True, callback=_settings, help="A setting of Spark; repeatable."
    ),
)

engine_options = option_group(
    "engine",
    _engine,
    *_ENGINE,
    click.option(
        "--search-rows",
        type=click.IntRange(min=1),
        metavar="ROWS",
        help="Rows in memory during the search; a larger table is searched on a sample, and counted whole. "
        "[default: 500,000]",
    ),
)
"""The argument `engine`: `Local` or `Spark`."""

engine_of_checks_options = option_group("engine", _engine, *_ENGINE)
"""The same for commands that search for nothing."""


# --- where a release goes ---------------------------------------------------------------------------------------------


def _output(output: str, **fields: Any) -> Output:
    from anonkit.pipeline.release_space import Output

    return Output.at(output, **fields)


_PART_ROWS = click.option(
    "--part-rows",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="Write the data as a folder of files of about so many rows; on Spark the executors write them.",
)
_DRY_RUN = click.option(
    "--dry-run",
    is_flag=True,
    help="Write nothing: show what would be released. With --epsilon on simulated rows; with --owner on yours.",
)
_SIGN = click.option(
    "--sign", metavar="KEY", help="Sign all files with this private key: Ed25519, PEM, from `openssl genpkey`."
)
_EMIT = click.option(
    "--emit",
    metavar="A,B",
    callback=lambda context, option, given: tuple(word.strip() for word in (given or "").split(",") if word.strip()),
    help="Write entries for catalogues too: croissant, registry (OpenDP deployments, where an epsilon is promised).",
)
_CELLS = click.option(
    "--cells",
    type=click.Choice(["labels", "bounds", "means"]),
    default="labels",
    show_default=True,
    help="How generalized numbers are shown: as labels, such as [30, 40), as two columns, lowest and highest value, or "
    "(means) as these and a third with the mean of each group.",
)
_OUT = click.argument("output", metavar="OUT")

output_options = option_group(
    "output",
    _output,
    _OUT,
    _PART_ROWS,
    _DRY_RUN,
    click.option(
        "--owner-report",
        metavar="DIR",
        help="Write the private files there: figures of the source, and the dossier that the owner signs.",
    ),
    examples_option,
    _SIGN,
    _EMIT,
    _CELLS,
    force_option,
)
"""The argument OUT and the argument `output`: an `Output`."""

next_output_options = option_group("output", _output, _OUT, _PART_ROWS, _DRY_RUN, _SIGN, _EMIT, _CELLS, force_option)
"""The same for the next batch, whose owner's figures are those of the earlier release."""

other_output_options = option_group(
    "output",
    dict,
    click.option("--output", metavar="OUT", help="Write the release here, not where the recipe says."),
    _DRY_RUN,
    _SIGN,
    _EMIT,
    force_option,
)
"""The argument `output`: fields of an `Output` instead of those of a recipe."""
