"""All that an error says, and all that led to it, whether a traceback would show it or not."""

from __future__ import annotations

from collections.abc import Iterator


def all_that_is_said(error: BaseException) -> Iterator[str]:
    """Yield the texts of an error and of its causes and contexts, those that are suppressed too."""
    waiting, seen = [error], set()
    while waiting:
        link = waiting.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield from (str(link), repr(link), repr(link.args), repr(vars(link)), repr(getattr(link, "__notes__", "")))
        waiting += [further for further in (link.__cause__, link.__context__) if further is not None]
