# SPDX-License-Identifier: Apache-2.0
"""The published parameters of a release, as values that owners write and receivers read back.

``randomized_table`` (answers) with ``channels`` (their response matrices), ``noisy_tables`` (counts of class and
attribute), ``tree_model`` with ``tree_attributes``, ``taxonomy`` and ``additive_scores`` (published forests),
``recoding`` (how quasi-identifiers were generalized), ``exact_losses`` (privacy losses of published integers). Owners
write them; consumers and `anonkit apply` read them. Nothing here draws noise or holds a key.
"""
