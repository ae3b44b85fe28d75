# SPDX-License-Identifier: Apache-2.0
"""The owner's ledger: releases of every dataset, their total privacy loss, and the budget that is left.

``store`` is a ledger with its three durable steps, ``ledger_lines`` what it reads and writes in its tables, which are
in a ``file_store`` or a ``server_store``. ``account`` finds it at its ``ledger_place``, and refuses what a dataset
cannot afford; the ``earlier_releases`` whose recoding is applied have to be known to it. ``spending`` is one release
on its way through the steps, ``booked_releases`` the end of one whose process is gone, ``neighbour_totals`` the sums
over entries. ``recognition`` finds the dataset of a table: by its ``fingerprint``, made under the ledger's key and
kept as sums and ``sketch`` bits; ``people_marks`` know again who was in an earlier table. ``intersection_check``
bounds what several releases of one dataset show together.
"""

from anonkit.ledger.file_store import SUFFIX as KEY_SUFFIX
from anonkit.ledger.store import NAME, Ledger

__all__ = ["KEY_SUFFIX", "NAME", "Ledger"]
