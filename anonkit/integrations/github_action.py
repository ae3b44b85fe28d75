# SPDX-License-Identifier: Apache-2.0
"""GitHub Actions: validate the releases of a repository, annotate what fails, and show the reports on the run's page.

python -m anonkit.integrations.github_action --k 10 out.parquet "releases/*.parquet"

How to use it: docs/how-to/github-action.md. It reads release files alone and needs nothing but anonkit.
"""

from __future__ import annotations

import argparse
import glob
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anonkit
from anonkit.bundle.release_place import DATA, DESCRIPTOR, PAGE, Place
from anonkit.errors import AnonkitError, ParameterError
from anonkit.integrations.pipeline_step import refuse_failed, validate_release
from anonkit.report.charts import safe_text
from anonkit.report.markdown import escaped, report_markdown, validation_markdown

_SUMMARY_LIMIT = 900_000
"""Bytes of a summary that are written: GitHub shows none of one that is larger than a mebibyte."""


@dataclass(frozen=True, kw_only=True)
class ActionOutcome:
    """The outcome of validating one release."""

    release: str
    """As it was named, or found by a pattern."""
    checks: Sequence[Mapping[str, Any]] = ()
    error: AnonkitError | None = None
    """Why the release is refused, or could not be checked."""
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """The exit code of `anonkit validate`."""
        return 0 if self.error is None else self.error.exit_code

    def annotations(self) -> Iterator[str]:
        """Yield marks of the release in the run: a workflow command for each check that failed, or for the error."""
        if self.error is None:
            return
        failed = [check for check in self.checks if not check["passed"]]
        for check in failed:
            found = f"{check['name']} is {check['observed']}, {check['required']} was required"
            yield _command("error", found, file=self.release, title="anonkit: the promise does not hold")
        if not failed:
            message, hint = self.error.for_command_line()
            text = f"{message}. {hint}" if hint else message
            yield _command("error", text, file=self.release, title="anonkit: the release is not validated")

    def summary(self) -> str:
        """Return the section of the run's page, in Markdown."""
        parts = [f"## {escaped(self.release)}\n"]
        if self.error is not None:
            parts.append(f"**Not valid:** {escaped(self.error.for_command_line()[0])}\n")
        if self.checks:
            parts.append(validation_markdown(self.checks))
        if self.report and self.error is None:  # a broken release is not described in its own words
            parts.append(report_markdown(self.report))
        return "\n".join(parts)


def releases_of(patterns: Sequence[str]) -> list[str]:
    """Return the releases that paths and patterns name, each once, in order.

    A pattern finds the data of releases, files and folders, by the descriptor beside them. A name without
    `*`, `?` or `[` means itself, so that a release that is missing is missed.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        if not glob.has_magic(pattern):
            found[pattern] = None
            continue
        for path in sorted(glob.glob(pattern, recursive=True)):
            if path.endswith(DATA) and Place.of(path.rstrip("/")).file(DESCRIPTOR).exists():
                found[path.rstrip("/")] = None
    return list(found)


def judged(release: str, **requirements: Any) -> ActionOutcome:
    """Validate one release.

    Privacy
    -------
    Everything that a verdict shows follows from the files of the release.
    """
    checks: Sequence[Mapping[str, Any]] = ()
    try:
        if not release.isprintable():  # a name that ends a line would write outputs of the step in its own words
            raise ParameterError("the name of a release has characters that are no letters", "rename its folder")
        checks = validate_release(release, **requirements)
        refuse_failed(checks, release)
        return ActionOutcome(release=release, checks=checks, report=anonkit.load(release).report)
    except AnonkitError as error:
        return ActionOutcome(release=release, checks=checks, error=error)


def main(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Validate releases; return 0, or the exit code of the first that is not valid, or 2 where there is none.

    Parameters
    ----------
    arguments : sequence of str
        Options and releases. An option with an empty value is one that was not given.
    environment : mapping, optional
        `GITHUB_STEP_SUMMARY` and `GITHUB_OUTPUT`, the files of the run that are added to, where they are named.
    """
    environment = os.environ if environment is None else environment
    given = _parser().parse_args([argument for argument in arguments if not _is_empty_option(argument)])
    requirements = {name: getattr(given, name) for name in ("k", "l", "t", "signed_by")}
    releases = releases_of([pattern for text in given.releases for pattern in text.split("\n") if pattern.strip()])
    if not releases:
        sys.stdout.write(_command("error", "no release was found by these names", title="anonkit") + "\n")
        return 2
    verdicts = [judged(release.strip(), **requirements) for release in releases]
    for verdict in verdicts:
        sys.stdout.write("".join(f"{line}\n" for line in verdict.annotations()))
        verdict_word = "valid" if verdict.error is None else "not valid"
        sys.stdout.write(f"{safe_text(verdict.release)}: {verdict_word}, {len(verdict.checks)} checks\n")
    _add(environment.get("GITHUB_STEP_SUMMARY"), _within("\n".join(each.summary() for each in verdicts)))
    pages = [str(Place.of(each.release).file(PAGE)) for each in verdicts if each.error is None]
    _add(environment.get("GITHUB_OUTPUT"), "\n".join(["pages<<anonkit-pages", *pages, "anonkit-pages"]))
    return next((verdict.exit_code for verdict in verdicts if verdict.exit_code), 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="anonkit-github-action", description=__doc__, allow_abbrev=False)
    parser.add_argument("releases", nargs="*", help="data files or folders of releases, or patterns; one a line")
    parser.add_argument("--k", type=int)
    parser.add_argument("--l", type=float)
    parser.add_argument("--t", type=float)
    parser.add_argument("--signed-by", help="public key (Ed25519, PEM)")
    return parser


def _is_empty_option(argument: str) -> bool:
    """Return True if an option has no value: an input of the action that was left empty."""
    return argument.startswith("--") and argument.endswith("=")


def _command(name: str, message: str, **properties: str) -> str:
    """Return a workflow command; whatever came with the release cannot end it or begin another."""
    values = {key: _escaped(text).replace(":", "%3A").replace(",", "%2C") for key, text in properties.items()}
    settings = ",".join(f"{key}={text}" for key, text in values.items())
    return f"::{name} {settings}::{_escaped(message)}"


def _escaped(text: str) -> str:
    lines = "\n".join(map(safe_text, text.splitlines()))
    return lines.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _within(summary: str) -> str:
    """Return a summary that is not too large to be shown."""
    if len(summary.encode()) <= _SUMMARY_LIMIT:
        return summary
    return "There are too many releases to show them here; the log of the step names each.\n"


def _add(file: str | None, text: str) -> None:
    """Add lines to a file of the run; outside of GitHub there is none."""
    if file:
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
