"""Compilation of all that the workers import, once before they start.

In a fresh checkout each worker would rewrite the assertions of all tests, and compile the package and all that it
imports, at the same time as the others: half of what collecting the tests took.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

FEW = 100
"""Files that are not worth other processes: what a developer has changed since his last run."""

PACKAGES = (
    *("pandas", "scipy.stats", "sklearn.ensemble", "sklearn.linear_model", "matplotlib.pyplot"),
    *("duckdb", "pyarrow.parquet", "pyarrow.dataset", "polars", "deltalake", "pyiceberg.catalog", "pyspark.sql"),
    *("openpyxl", "fastexcel", "xlsxwriter", "jsonschema", "frictionless", "pandera", "great_expectations"),
    *("boto3", "moto.server", "sqlalchemy", "cryptography.fernet", "jinja2", "hypothesis"),
)
"""Modules that take long to compile: packages are installed as they come."""

_IMPORT_ALL = """
import compileall, importlib, sys, warnings
warnings.simplefilter("ignore")
compileall.compile_dir(sys.argv[1], quiet=2)
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
"""


def _cache_of(path: Path) -> Path:
    return rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)


def outdated(folder: Path) -> list[Path]:
    """Return the files of tests whose assertions have not been rewritten as they are now."""
    files = [*folder.rglob("test_*.py"), *folder.rglob("conftest.py")]
    return [path for path in files if rewrite._read_pyc(path, _cache_of(path)) is None]


def rewrite_assertions(config: pytest.Config, paths: list[Path]) -> None:
    """Keep the code of test files with their assertions rewritten, where pytest looks for it."""
    for path in paths:
        stamp, code = rewrite._rewrite_test(path, config)
        cache = _cache_of(path)
        rewrite.try_makedirs(cache.parent)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, stamp, cache)


_config: pytest.Config
"""Of the processes that rewrite: a configuration cannot be sent to them, so that they are forked with it."""


def _rewrite_share(paths: list[Path]) -> None:
    rewrite_assertions(_config, paths)


def compile_ahead(config: pytest.Config, tests: Path, package: Path) -> None:
    """Compile before any worker starts, on all cores; nothing in a worker, without workers, or where little is left."""
    is_controller = not hasattr(config, "workerinput") and config.getoption("numprocesses", None)
    if not is_controller or sys.dont_write_bytecode or not hasattr(os, "fork"):
        return
    left = outdated(tests)
    if len(left) < FEW:
        return
    global _config
    _config = config
    others = subprocess.Popen(
        [sys.executable, "-c", _IMPORT_ALL, str(package), *PACKAGES],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        list(pool.map(_rewrite_share, [left[start : start + 10] for start in range(0, len(left), 10)]))
    others.wait()
