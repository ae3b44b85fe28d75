# SPDX-License-Identifier: Apache-2.0
"""The owner's budget across releases: what was released of which dataset, what it adds up to, what may still be spent.

``store`` is the SQLite file and its three durable steps, ``standing`` the sums over entries, ``account`` where a
release is to be booked, ``spending`` one release on its way through the steps, ``joint_view`` what several releases of
one dataset show together, ``fingerprint`` how a dataset is known again, ``liveness`` whether a process still runs.
"""

from anonkit.ledger.store import NAME, Ledger

__all__ = ["NAME", "Ledger"]
