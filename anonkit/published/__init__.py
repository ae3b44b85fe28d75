# SPDX-License-Identifier: Apache-2.0
"""The published parameters of a release, as values that owners write and receivers read back.

``randomized_table`` (answers) with ``channels`` (their response matrices), ``noisy_tables`` (counts of class and
attribute), ``tree_model`` with ``tree_attributes`` and ``additive_scores`` (published forests), ``marginal_tables``
with ``product_mixtures``, ``statements`` (queries, draws and their values), ``recoding`` (how quasi-identifiers were
generalized), ``exact_losses`` (privacy losses of published integers). Owners write them; consumers and `anonkit apply`
read them. Nothing here draws noise or holds a key.
"""
