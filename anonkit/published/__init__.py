# SPDX-License-Identifier: Apache-2.0
"""The published parameters of a release, as values that owners write and receivers read back.

``randomized_table`` (answers) with ``channels`` (their response matrices), ``noisy_tables`` (counts of class and
attribute; marginal tables), ``tree_model`` with ``count_evidence`` (published forests), ``product_mixtures``,
``statements`` (queries, draws and their values), ``recoding`` (how quasi-identifiers were generalized),
``exact_losses`` (privacy losses of published integers). Owners write them; consumers and `anonkit apply` read them.
Nothing here draws noise or holds a key.
"""
