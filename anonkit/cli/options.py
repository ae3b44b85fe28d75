# SPDX-License-Identifier: Apache-2.0
"""Options that mean the same in every command that has them."""

from __future__ import annotations

import click

json_option = click.option(
    "--json", "as_json", is_flag=True, expose_value=False, help="One JSON object on stdout; errors too."
)
"""Only declared here: the boundary looks for it, since it must know before the other options are understood."""

quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show errors only.")

force_option = click.option("--force", is_flag=True, help="Replace what is there already.")

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Do everything except writing; the figures are for the owner's eyes only."
)

engine_option = click.option(
    "--engine", metavar="NAME", default="local", show_default=True, help="What moves and counts the rows."
)
