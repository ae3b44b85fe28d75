# SPDX-License-Identifier: Apache-2.0
"""Comparators of the literature: DTPD, DTCRD and record flips. No method, command or recipe of anonkit reaches them.

They are what paper 004 was measured against, and stay so that its comparison can be repeated, as
`recipes/papers/004-ppnb.toml` does. ``anonkit.consumers`` keeps their names, for whoever wants to
compare a method of their own. None of them protects a record: one known value undoes a flip, and additive noise has
no bound.
"""
