# SPDX-License-Identifier: Apache-2.0
"""Arrow's arrays of whoever reads files alone: without pandas."""

from __future__ import annotations

import sys
import threading

from anonkit.utility.learning_process import KeptOut


def without_pandas() -> None:
    """Let pyarrow look for pandas while there is none to be found.

    At its first array it imports pandas to recognize the objects of pandas, which takes a third as long as all
    other imports of a command. Whoever reads files has no such objects. Whoever asks for a data frame afterwards
    gets one: pyarrow looks again then. Other threads find pandas all the time.
    """
    import pyarrow as pa

    if "pandas" in sys.modules:  # it is not imported again
        return
    finder = KeptOut(("pandas",), thread=threading.get_ident())
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)
