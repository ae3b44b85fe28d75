# SPDX-License-Identifier: Apache-2.0
"""Attacks on a release, run by its owner, who has the source table.

``release_audit`` audits a release, or any table, by the attacks of `anonkit.auditing.attacks`. ``epsilon_audit``,
``coin_audit`` and ``rerun`` bound a claimed epsilon from below: from the outputs of a mechanism, of rows sampled by
coins, or of whole releases that are made again.
"""

from anonkit.auditing.release_audit import audit

__all__ = ["audit"]
