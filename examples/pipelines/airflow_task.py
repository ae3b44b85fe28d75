"""An Airflow task that validates a release: a broken promise fails for good, what could not be checked is retried."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import BaseOperator


class ValidateRelease(BaseOperator):
    """Run `anonkit validate` on a release.

    Parameters
    ----------
    release : str
        Path of the release; may be a template.
    arguments : sequence of str
        More options, such as ("--k", "10").
    """

    template_fields = ("release",)

    def __init__(self, *, release: str, arguments: tuple[str, ...] = (), **more: Any) -> None:
        super().__init__(**more)
        self.release = release
        self.arguments = arguments

    def execute(self, context: Any) -> str:
        """Return the validation as JSON."""
        command = [sys.executable, "-m", "anonkit", "validate", self.release, *self.arguments, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 1:
            raise AirflowFailException(f"the release does not keep its promise: {done.stdout}")
        if done.returncode:
            raise AirflowException(f"the release could not be checked (exit code {done.returncode})")
        return done.stdout
