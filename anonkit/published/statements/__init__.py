# SPDX-License-Identifier: Apache-2.0
"""The algebra of noise statements: which queries were answered with which noise, and what is published of each answer.

``noise_statement``
    One draw of noise: a query, a law, a rate; how draws compose; queries of contingency tables, sums and scores; the
    whole statement, and the published values. Own methods and statements have the same draws.
``value_lines``
    What the released table shows of the values, and how far noise moves them.

There is no privacy loss in a draw. The owner's account (`anonkit.mechanisms.accounting`) and the one that `validate`
works out (`anonkit.checks`) compute it, each from the query and a table of its own.
"""
