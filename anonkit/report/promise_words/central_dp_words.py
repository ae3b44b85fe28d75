# SPDX-License-Identifier: Apache-2.0
"""Page wording for central differential privacy with delta 0."""

from __future__ import annotations

from typing import ClassVar

from anonkit.report.promise_words.loss_words import LossWords


class CentralDPWords(LossWords):
    """Words for pure epsilon under a trusted owner: those of every bound say all of it."""

    kind: ClassVar[str] = "central-dp"
    name: ClassVar[str] = "Central differential privacy"
