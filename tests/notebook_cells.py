"""A notebook written as a Python file with `# %%` cells, run as a notebook runs it: `python notebook_cells.py FILE`.

Every cell is compiled alone, so that no statement goes over the border of two, and its last expression is shown: by
`_repr_html_` where there is one. Cells of text are comments and nothing else.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

MARK = "# %%"


def cells_of(text: str) -> list[tuple[bool, str]]:
    """Return the cells of a file as (is text, source), each with empty lines before it that keep its line numbers.

    Raises
    ------
    ValueError
        Something is before the first mark, or code in a cell of text.
    """
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(MARK)]
    if not starts or starts[0] != 0:
        raise ValueError("a notebook begins with a cell")
    cells = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        is_text = lines[start].startswith(f"{MARK} [markdown]")
        if is_text and any(line and not line.startswith("#") for line in lines[start:end]):
            raise ValueError(f"line {start + 1}: a cell of text with code in it")
        cells.append((is_text, "\n" * start + "\n".join(lines[start:end])))
    return cells


def run(path: Path) -> None:
    """Run the cells in order, in one name space, and print what each shows."""
    names: dict[str, object] = {"__name__": "__main__"}
    for is_text, source in cells_of(path.read_text(encoding="utf-8")):
        if is_text:
            continue
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            if shown is not None:
                print(shown._repr_html_() if hasattr(shown, "_repr_html_") else repr(shown))


if __name__ == "__main__":
    run(Path(sys.argv[1]))
