# SPDX-License-Identifier: Apache-2.0
"""The algebra of noise statements: which queries were answered with which noise, and what is published of each answer.

``queries``
    Contingency tables, sums of bounded numbers, and scores among which a private choice is made.
``noise_statement``
    Draws (a query, a law of noise, a rate, the rows it reads), the whole statement, and the published values.
``statement_json``
    Both as JSON, by the declaration of their fields.
``value_lines``, ``draw_widths``
    What the released table shows of the values, and how far noise moves them.

There is no privacy loss in a statement. The owner's account (`anonkit.mechanisms.statement_loss`) and the one that
`validate` works out (`anonkit.checks.stated`) compute it, each from the statement and a table of its own.
"""
