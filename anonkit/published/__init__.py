# SPDX-License-Identifier: Apache-2.0
"""What is published for receivers: the parameters of a release as values that are written, read back and used.

``randomized_table`` (answers and their response matrices), ``noisy_tables`` (counts of class and attribute),
``tree_model`` with ``tree_attributes``, ``taxonomy`` and ``additive_scores`` (published forests), ``recoding`` (how
quasi-identifiers were generalized). Owners write them; consumers and `anonkit apply` read them.
"""
