# SPDX-License-Identifier: Apache-2.0
"""Budget rules: how epsilon is divided, and which tables, depths and cells are chosen, by what is public alone.

Every function here is pure. Its arguments are public facts (parameters, sizes of domains, a declared number of rows)
and values that were published before (noisy counts, noisy readings). None sees a row. So a wrong rule costs utility,
and never privacy: whatever it chooses, the account adds up what was drawn.

A method follows a rule while it draws, and `anonkit.checks` follows the same code with what the release published. A
method that gave a rule something private would come to another end than the check, and its release is refused. The
sensitivity of each query, the loss of each law, the composition and how often a row pays are not here. The checks have
these of their own. `tests/budget_rules/test_no_row_is_seen.py` keeps the package free of rows.
"""
