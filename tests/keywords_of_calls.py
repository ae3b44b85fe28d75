"""The keywords that a public call takes, those of its groups of options among them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, get_args


def keywords_of(call: Callable[..., Any]) -> list[str]:
    """Return the names of a call's parameters; `**options: Unpack[GROUP]` represents the keys of the group."""
    names = []
    for parameter in inspect.signature(call).parameters.values():
        names.append(parameter.name)
        written = str(parameter.annotation)
        if parameter.kind is parameter.VAR_KEYWORD and written.startswith("Unpack["):
            group = eval(written, vars(sys.modules[call.__module__]))
            names += get_args(group)[0].__annotations__
    return names
