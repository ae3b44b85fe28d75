# SPDX-License-Identifier: Apache-2.0
"""Comparators of the literature: DTPD, DTCRD and record flips, against which paper 004 was measured.

`recipes/papers/004-ppnb.toml` repeats the comparison. None of them protects a record: one known value undoes a flip,
and additive noise has no bound.
"""
