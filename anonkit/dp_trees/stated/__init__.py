# SPDX-License-Identifier: Apache-2.0
"""Methods that hand on one noise statement; the rest of a release under central differential privacy follows from it.

``stated_method``
    The class that a method extends: it gives the statement, and nothing else. All queries are answered in one pass
    over the rows, wherever these are. The draft has rows or lines of the noisy values, with params and report.
"""
