# SPDX-License-Identifier: Apache-2.0
"""Usefulness of a table to models of its target: scores, their intervals, and the models they are of.

Nothing here decides about a promise. `validate` works scores and intervals out in NumPy; scikit-learn grows trees and
fits models.

``class_scores``
    Predicted classes against true ones, with 95 % intervals.
``class_utility``, ``number_utility``
    The score of a forest on the first rows of a table, or beside that of its source.
``consumer_models``
    Ordinary models of a released table, scored on rows that were not released, with 95 % intervals.
``bagged_trees``, ``learning_process``
    Forests, and the process beside a command in which they are grown.
"""
