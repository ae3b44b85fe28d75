# SPDX-License-Identifier: Apache-2.0
"""The log of a release, under the logger `anonkit`: its steps, and the notes of its report.

Privacy
-------
No cell and no figure of the source is logged. The notes are those of the published report. What only the owner gets
of the table goes to the logger `anonkit.owner`, which hands nothing on: it takes a handler of its own to see it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from anonkit.bundle.release_names import DATA
from anonkit.bundle.stored_release import Release
from anonkit.errors import AnonkitError
from anonkit.protocols import Progress

LOG = logging.getLogger("anonkit")
OWNER_LOG = logging.getLogger("anonkit.owner")
for logger in (LOG, OWNER_LOG):
    logger.addHandler(logging.NullHandler())
OWNER_LOG.propagate = False


@dataclass
class StepLog:
    """The log of one release; every line is of level INFO and begins with what is done."""

    what: str
    shown: Progress
    """Called with every step too."""
    _last: str = field(default="", init=False)

    def progress(self, step: str, share: float) -> None:
        """Take the place of `shown`, and log each step when it begins."""
        if step != self._last:
            self._last = step
            self._say(step)
        self.shown(step, share)

    def made(self, release: Release) -> None:
        """Log a release that was made, with the notes that everybody can read in it."""
        if release.is_dry_run:
            self._say("dry run, nothing was written")
            return
        done = "reused" if release.reused else "made"
        self._say(f"{done} in memory" if release.place is None else f"{done} {release.place.shown(DATA)}")
        for note in release.report["notes"]:
            self._say(f"note: {note}")
        for note in (*release.owner.get("reading_notes", ()), *release.owner.get("ledger", {}).get("notes", ())):
            OWNER_LOG.info("%s: note: %s", self.what, note)

    def ended(self, how: str) -> None:
        """Log that there is no release."""
        self._say(how)

    def _say(self, text: str) -> None:
        LOG.info("%s: %s", self.what, text)


@contextmanager
def step_log(what: str, shown: Progress) -> Iterator[StepLog]:
    """Yield the log of a release; an error is logged by its word alone, since whoever catches it has its message.

    Parameters
    ----------
    what : str
        What is done, such as "release by mondrian".
    shown : callable
        Called with every step and the share done.
    """
    log = StepLog(what=what, shown=shown)
    try:
        yield log
    except AnonkitError as error:
        log.ended(f"refused ({error.code})")
        raise
    except BaseException as error:
        log.ended(f"failed ({type(error).__name__})")
        raise
