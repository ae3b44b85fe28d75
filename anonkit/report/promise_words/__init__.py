# SPDX-License-Identifier: Apache-2.0
"""Wording of the report page for each kind of promise: one module per kind, and the look-up table.

The words work on the `guarantee` block of a report, not on the promise as a value: a page is also made of reports that
were read from a file, and shows a damaged one rather than nothing. The page itself (`anonkit.report.page`, its template
and `anonkit.report.markdown`) knows no kind: it asks the words for their headline, figures and questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonkit.promises.promise_kinds import of_kind
from anonkit.report.promise_words.class_words import ClassWords, NoPromiseWords, PromiseWords
from anonkit.report.promise_words.dp_words import AnonymousDPWords, ApproximateDPWords, CentralDPWords, LocalDPWords

_WORDS: Mapping[str, PromiseWords] = {
    words.kind: words
    for words in (
        ClassWords(),
        LocalDPWords(),
        CentralDPWords(),
        ApproximateDPWords(),
        AnonymousDPWords(),
        NoPromiseWords(),
    )
}


def words_of(promise: Mapping[str, Any]) -> PromiseWords:
    """Return the words for the promise of a report.

    Parameters
    ----------
    promise : mapping
        The `guarantee` block.

    Raises
    ------
    ReleaseFormatError
        There is no such promise.
    """
    return of_kind(_WORDS, promise)
