"""Tables of simulated people, and the user of a desk about them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from desk.phone import CHROMIUM, QUIET
from desk.visitor import Visitor
from pyarrow import csv

from anonkit.datasets.bank_card_customers import bank_customers, bank_customers_policy_toml
from anonkit.desk.release_desk import Desk
from anonkit.policy.column_declarations import Role

MARKER = "MARKER-of-one-person"


def customers(rows: int) -> pa.Table:
    """Return simulated customers, with a cell that one of them alone has."""
    table = bank_customers(rows, seed=3, customer_id=True)
    columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    jobs = columns[table.column_names.index("occupation")].to_pylist()
    jobs[7] = MARKER
    columns[table.column_names.index("occupation")] = pa.array(jobs)
    return pa.table(columns, names=table.column_names)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of 300 simulated customers."""
    path = tmp_path / "people.csv"
    csv.write_csv(customers(300), path)
    return path


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """Their policy, with every domain."""
    path = tmp_path / "declared.toml"
    path.write_text(bank_customers_policy_toml(customer_id=Role.IDENTIFIER), encoding="utf-8")
    return path


@pytest.fixture
def sits_at() -> Iterator[Callable[..., Visitor]]:
    """Opens a desk; returns its user."""
    opened: list[Desk] = []

    def sits(table: Path | str, folder: Path, **more: Any) -> Visitor:
        desk = Desk(str(table), folder, **more)
        opened.append(desk)
        visitor = Visitor(desk)
        desk.open()
        visitor.wait("names")
        return visitor

    yield sits
    for desk in opened:
        desk.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Any]:
    """Start the command; give back its address."""
    started: list[subprocess.Popen[str]] = []

    def serve(*words: str) -> str:
        """Start the command; return its address."""
        command = [sys.executable, "-m", "anonkit", "desk", *words, "--output", str(tmp_path / "out"), "--no-browser"]
        environment = {**os.environ, "ANONKIT_LEDGER": str(tmp_path / "ledger")}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip()

    yield serve
    for process in started:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
