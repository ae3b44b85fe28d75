# SPDX-License-Identifier: Apache-2.0
"""Attacks on a release by somebody who knows people of its source: singling out, linkability, inference, membership.

For the owner, who alone has the source. Every attack is run on three controls too, by the same attacker: the source
itself (identity), the source with every value renamed, and the release with every column shuffled by itself. An attack
that does not find the source in the source says nothing about the release.
"""
