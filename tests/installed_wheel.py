"""Run anonkit as it was installed: the files it needs, the demo, the validation of what the demo wrote.

Runs in an environment that holds the wheel and the requirements of the wheel, and nothing of the repository:
`nox -s build wheel`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path

NEEDED = (
    "py.typed",
    "report/schemas/report.schema.json",
    "report/schemas/promises/none.schema.json",
    "report/templates/report.html.j2",
    "report/templates/report.css",
)
"""Files that are no code, and without which the package only seems to be installed."""


def main() -> None:
    """Fail with an assertion where the installed package is not whole."""
    import anonkit

    home = Path(anonkit.__file__).resolve().parent
    assert Path(sys.prefix).resolve() in home.parents, f"{home} is not the installed package"
    installed = distribution("anonkit")
    assert installed.version == anonkit.__version__
    assert "pandas" in (installed.metadata.get_all("Provides-Extra") or [])
    for name in NEEDED:
        assert files("anonkit").joinpath(*name.split("/")).is_file(), f"the wheel lacks {name}"
    program = shutil.which("anonkit", path=str(Path(sys.executable).parent))
    assert program is not None, "the wheel installs no command"
    with tempfile.TemporaryDirectory() as folder:
        _run(folder, program, "demo", "--folder", "out", "--rows", "2000", "--quiet")
        release = str(Path(folder, "out", "release.parquet"))
        told = json.loads(_run(folder, program, "validate", release, "--json"))
        assert told["passed"] is True, told
        Path(folder, "paper.toml").write_text("[experiment]\n", encoding="utf-8")
        refused = subprocess.run(
            [program, "run", "paper.toml"], cwd=folder, capture_output=True, text=True, check=False
        )
        assert refused.returncode == 4, refused.stderr
        loaded = anonkit.load(release)
        assert len(loaded.to_pandas()) == loaded.report["rows"]["out"] > 0
    sys.stdout.write(
        f"anonkit {installed.version} on Python {sys.version.split()[0]}: installed, released, validated\n"
    )


def _run(folder: str, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    main()
