# SPDX-License-Identifier: Apache-2.0
"""`anonkit completion`: the script that adds anonkit's commands and options to a shell's completion."""

from __future__ import annotations

import click

from anonkit.cli.boundary import COMPLETE
from anonkit.cli.options import json_option
from anonkit.cli.outcome import Outcome


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def command(shell: str) -> Outcome:
    """Print the completion script of a shell.

    \b
    eval "$(anonkit completion bash)"                                       # in ~/.bashrc
    eval "$(anonkit completion zsh)"                                        # in ~/.zshrc
    anonkit completion fish > ~/.config/fish/completions/anonkit.fish
    """
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    assert completion_class is not None  # noqa: S101 - click brings these three
    root = click.get_current_context().find_root()
    script = completion_class(root.command, {}, "anonkit", COMPLETE).source()
    return Outcome(text=script.rstrip("\n"), document={"shell": shell, "script": script})
