"""The comparison of the output on a page with the output of its commands."""

from __future__ import annotations

import re

GAP = "…"
"""On a page: any rest of a line; alone on its line: any lines."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def agrees(told: str, printed: str, *, numbers_vary: bool = False) -> bool:
    """Return whether a page's output block is the printed output, white space at the ends of lines aside.

    Parameters
    ----------
    told : str
        The block. `…` represents any rest of a line, alone on its line for any lines.
    printed : str
        Standard output and standard error.
    numbers_vary : bool
        Whether a number of the block represents any number.
    """
    pattern = ""
    for line in told.strip("\n").splitlines():
        if line.strip() == GAP:
            pattern += r"(?:[^\n]*\n)*"
            continue
        pieces = [
            ("\0".join(map(re.escape, _NUMBER.split(piece))) if numbers_vary else re.escape(piece)).replace(
                "\0", r"\d+(?:[.,:]\d+)*"
            )
            for piece in line.rstrip().split(GAP)
        ]
        pattern += r"[^\n]*".join(pieces) + "\n"
    shown = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, shown) is not None


def of_a_console(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with what it prints there; `$ ` begins one, `> ` goes on with it."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif not found:
            raise ValueError("a console block begins with `$ `")
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found
