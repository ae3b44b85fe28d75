# SPDX-License-Identifier: Apache-2.0
"""Attacks on a release, run by its owner, who has the source table.

``releases`` audits a release, or any table, by the attacks of `anonkit.auditing.attacks`; ``channel`` and ``rerun``
bound a claimed epsilon from below, by drawing the noise of randomized answers or of whole releases again.
"""

from anonkit.auditing.release_audit import audit

__all__ = ["audit"]
