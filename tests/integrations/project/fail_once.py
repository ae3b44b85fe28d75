"""A failure of the platform, once, after the release is out: what a retry finds is what the first attempt left."""

import hashlib
import json
import os
from pathlib import Path

FAIL_ONCE = "FAIL_ONCE"
"""Variable of the environment: the file that says it has failed, and what the release was then."""


def files_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a folder by its name."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def fail_once(released: Path = Path("out")) -> None:
    """Fail, if that is requested and has not happened yet."""
    mark = os.environ.get(FAIL_ONCE)
    if mark and not Path(mark).exists():
        Path(mark).write_text(json.dumps(files_of(released)), encoding="utf-8")
        raise RuntimeError("the platform failed after the release was out")


if __name__ == "__main__":
    fail_once()
