"""Write the expected files of the golden releases anew, all or those named, and say which changed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.cases import CASES
from golden.outcomes import EXPECTED, differences, files_of, other_versions


def main(names: list[str]) -> int:
    """Rewrite what is named, everything by default."""
    if other := other_versions():
        print("expected files hold for the versions of constraints.txt: " + "; ".join(other), file=sys.stderr)
        return 3
    unknown = [name for name in names if name not in CASES]
    if unknown:
        print(f"no golden release is named {', '.join(unknown)}", file=sys.stderr)
        return 2
    EXPECTED.mkdir(exist_ok=True)
    kept: set[str] = set()
    for name in names or CASES:
        for file, content in files_of(CASES[name]).items():
            kept.add(file)
            path = EXPECTED / file
            before = path.read_bytes() if path.exists() else None
            if before is None or differences(file, content, before):
                path.write_bytes(content)
                print(f"{'new' if before is None else 'changed'} {file}")
    for path in sorted(EXPECTED.iterdir()):
        if not names and path.name not in kept:
            path.unlink()
            print(f"removed {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
