# SPDX-License-Identifier: Apache-2.0
"""Randomizing mechanisms in their published form: exact response matrices, and moments of additive noise.

A receiver reads these values from the params file and inverts them. Nothing here draws: answers are drawn by
`anonkit.mechanisms`, which a receiver does not need.
"""
