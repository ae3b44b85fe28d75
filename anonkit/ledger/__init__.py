# SPDX-License-Identifier: Apache-2.0
"""The owner's ledger: releases of every dataset, their total privacy loss, and the budget that is left.

``store`` is a ledger with its three durable steps, ``ledger_lines`` what it reads and writes in its tables, which are
in a ``file_store`` or a ``server_store``. ``account`` finds it, else the ``users_ledger``; a ``ledger_pointer`` beside
each release states which it was, and an ``applied_recoding`` has to be known to it. ``standing`` is the sums over
entries, ``spending`` one release on its way through the steps.
``recognition`` finds the dataset of a table: by its ``fingerprint``, made of ``keyed_tags`` and kept as sums and
``sketch`` bits under a ``private_key``; ``legacy_fingerprints`` are those of older ledgers. ``joint_view`` is what
several releases of one dataset show together, ``intersection_check`` how little is allowed.
"""

from anonkit.ledger.file_store import SUFFIX as KEY_SUFFIX
from anonkit.ledger.store import NAME, Ledger

__all__ = ["KEY_SUFFIX", "NAME", "Ledger"]
