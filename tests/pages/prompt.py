"""The Python prompt of a reader: a process that runs the given texts in one namespace, the last value shown.

    python prompt.py DESCRIPTOR

Each line of standard input is a JSON object with `text`, `name` and `line`; the answer, a line of the file DESCRIPTOR,
is the traceback, or null.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import sys
import traceback

import __main__


def _run(told: dict[str, str | int]) -> str | None:
    text, name = "\n" * (int(told["line"]) - 1) + str(told["text"]), str(told["name"])
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        tree = ast.parse(text, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), vars(__main__))
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), vars(__main__))
            if value is not None:
                print(repr(value))
    except BaseException:  # every error of a page is reported
        return traceback.format_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return None


if __name__ == "__main__":
    sys.path[0] = ""  # a reader's prompt sees its folder, not this file's
    with os.fdopen(int(sys.argv[1]), "w") as _answers:
        for _line in sys.stdin:
            _answers.write(json.dumps(_run(json.loads(_line))) + "\n")
            _answers.flush()
