# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/gallery.md, made anew: `PYTHONPATH=. python tests/documentation/gallery.py [NAMES]`.

Each is a page as anonkit writes it, from simulated tables with a seed, photographed by Chromium. The releases have no
seed, so that they say what a real one says; figures that follow from noise differ from run to run.
"""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "gallery"
COLOURS = 48
"""Colours of a picture: pages are text on plain grounds, and a palette makes a picture a quarter as large."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One page of the gallery, and what of it is shown."""

    page: Callable[[Path], Path]
    """Writes the page into a folder and returns it."""
    width: int = 1000
    """Pixels of the window."""
    height: int = 1300
    """Pixels of the window, and of the picture."""
    dark: bool = False
    anchor: str = ""
    """The place on the page where the picture begins."""


def _customers(rows: int = 5_000) -> Any:
    from anonkit.datasets import bank_customers

    return bank_customers(rows, seed=1)


def _policy() -> Any:
    from anonkit.datasets import bank_customers_policy

    return bank_customers_policy()


def _report(method: str, **options: Any) -> Callable[[Path], Path]:
    """Return what writes the report of a release of the customers."""

    def page(folder: Path) -> Path:
        import anonkit

        options.setdefault("target", "customer_value")
        anonkit.release(
            _customers(), method=method, policy=_policy(), output=folder / "release.parquet", ledger=None, **options
        )
        return folder / "release.report.html"

    return page


def _dossier(folder: Path) -> Path:
    import anonkit

    anonkit.release(
        _customers(), method="rfka", k=10, policy=_policy(), target="customer_value", sensitive=["income"], l=2,
        output=folder / "release.parquet", owner_report=folder / "owner", ledger=None,
    )  # fmt: skip
    (page,) = (folder / "owner").glob("*dossier*.html")
    return page


def _frontier(folder: Path) -> Path:
    import anonkit
    from anonkit.comparing.frontier import frontier_page

    found = anonkit.compare(
        _customers(1_000), target="customer_value", policy=_policy(),
        methods=["mondrian", "rfka", "dp-forest", "dp-nb"], k=[5, 20], epsilon=[0.5, 2.0], attacks=200,
    )  # fmt: skip
    page = folder / "frontier.html"
    page.write_text(frontier_page(found.to_dict()), encoding="utf-8")
    return page


def _notebook(folder: Path) -> Path:
    """Return what notebooks show of a release, on the grounds of a light and of a dark one."""
    import anonkit

    _report("dp-forest", epsilon=1.0)(folder)
    shown = anonkit.load(folder / "release.parquet")._repr_html_()
    grounds = (("#fff", "#1f2328"), ("#111", "#e0e0e0"))
    panels = [
        f'<div style="background: {ground}; color: {ink}; padding: 14px 20px">{shown}</div>' for ground, ink in grounds
    ]
    page = folder / "notebook.html"
    style = f"<style>{_PLAIN} body {{ margin: 0 }}</style>"
    page.write_text(f"<!doctype html><meta charset=utf-8>{style}{''.join(panels)}", encoding="utf-8")
    return page


def _verdict(folder: Path) -> Path:
    """Return the page of the experiment that docs/how-to/reproduce-a-paper.md writes."""
    page = (ROOT / "docs" / "how-to" / "reproduce-a-paper.md").read_text(encoding="utf-8")
    recipe = page.split('```toml title="example.toml"\n')[1].split("```")[0]
    (folder / "example.toml").write_text(recipe, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-m", "anonkit", "run", "example.toml", "--out", "out"]
    subprocess.run(command, check=True, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)})
    return folder / "out" / "example.html"


def _summary(folder: Path) -> Path:
    """Return the Markdown that pipelines show (GitHub, Dagster, Prefect), in plain clothes."""
    from markdown_it import MarkdownIt

    import anonkit
    from anonkit.report.markdown import report_markdown, validation_markdown

    _report("dp-nb", epsilon=1.0)(folder)
    release = anonkit.load(folder / "release.parquet")
    checks = [check.to_dict() for check in anonkit.validate(release).checks]
    markdown = MarkdownIt("commonmark").enable("table")
    shown = markdown.render(report_markdown(release.report)) + markdown.render(validation_markdown(checks))
    page = folder / "summary.html"
    page.write_text(f"<meta charset=utf-8><style>{_PLAIN}</style>{shown}", encoding="utf-8")
    return page


def _terminal(*commands: str) -> Callable[[Path], Path]:
    """Return what shows the commands and all that they print."""

    def page(folder: Path) -> Path:
        import pyarrow.csv

        pyarrow.csv.write_csv(_customers(), folder / "customers.csv")
        surroundings = os.environ | {"COLUMNS": "110", "PYTHONPATH": str(ROOT)}
        told = []
        for command in commands:
            program = [sys.executable, "-W", "ignore", "-m", *command.split()]
            done = subprocess.run(
                program, cwd=folder, env=surroundings, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )  # fmt: skip
            told.append(f"<b>$ {html.escape(command)}</b>\n{html.escape(done.stdout.strip())}\n")
        shown = folder / "terminal.html"
        shown.write_text(f"<meta charset=utf-8><style>{_DARK}</style><pre>{chr(10).join(told)}</pre>", encoding="utf-8")
        return shown

    return page


_PLAIN = """body { font: 15px/1.5 sans-serif; margin: 2em; color: #1f2328 } table { border-collapse: collapse }
th, td { border: 1px solid #d1d9e0; padding: 5px 12px; text-align: left } h1, h2 { border-bottom: 1px solid #d1d9e0 }"""
_DARK = """body { background: #16181d; margin: 1.2em } b { color: #7fd7c4 }
pre { color: #d8dce4; font: 14px/1.45 monospace; white-space: pre-wrap }"""

GALLERY = {
    "report-top": Picture(page=_report("rfka", k=10), height=760),
    "report-k-anonymity": Picture(page=_report("rfka", k=10)),
    "report-k-anonymity-dark": Picture(page=_report("rfka", k=10), dark=True, height=900),
    "report-local": Picture(page=_report("rr", epsilon=4.0)),
    "report-cells": Picture(page=_report("ppnb", p_keep=0.5)),
    "report-central": Picture(page=_report("dp-forest", epsilon=1.0)),
    "report-phone": Picture(page=_report("mondrian", k=10), width=400, height=900),
    "dossier": Picture(page=_dossier, height=1700),
    "frontier": Picture(page=_frontier, height=1200),
    "notebook": Picture(page=_notebook, height=1400),
    "verdict": Picture(page=_verdict, height=1200),
    "pipeline": Picture(page=_summary, height=1200),
    "terminal": Picture(
        page=_terminal(
            "anonkit release --method mondrian --k 10 --target customer_value --no-ledger customers.csv out.parquet",
            "anonkit validate out.parquet",
        ),
        height=760,
    ),
    "audit": Picture(
        page=_terminal(
            "anonkit release --quiet --method mondrian --k 10 --target customer_value customers.csv out.parquet",
            "anonkit audit out.parquet --original customers.csv",
        ),
        height=350,
    ),
}
"""Name of a picture -> what it shows."""


def photographed(picture: Picture, page: Path, into: Path) -> None:
    """Write a picture of a page as Chromium shows it, in few colours."""
    from PIL import Image

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("the pictures need a Chromium")
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.png"
        command = [
            chromium, "--headless", "--no-sandbox", "--hide-scrollbars", "--force-color-profile=srgb",
            f"--user-data-dir={folder}", f"--blink-settings=preferredColorScheme={0 if picture.dark else 1}",
            f"--window-size={picture.width},{picture.height}", f"--screenshot={raw}", page.as_uri() + picture.anchor,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        with Image.open(raw) as image:
            few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            few.save(into, optimize=True)


def main(names: list[str]) -> None:
    """Make the pictures of some names, or all."""
    PICTURES.mkdir(exist_ok=True)
    for name in names or GALLERY:
        with tempfile.TemporaryDirectory() as folder:
            photographed(GALLERY[name], GALLERY[name].page(Path(folder)), PICTURES / f"{name}.png")
        print(f"{name}: {(PICTURES / f'{name}.png').stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
