# SPDX-License-Identifier: Apache-2.0
"""Great Expectations: k, l, t and the promise of a release as expectations; users import `anonkit.checks.expectations`.

``class_expectations``
    The expectations, the suite of a policy, and the action of a checkpoint that refuses publication.
``batch_counts``, ``value_counts``
    Counts of classes and values in pandas, Spark and SQL batches, from which no cell value leaves.
``expectation_words``
    Words for data docs, those of row conditions among them.
"""
