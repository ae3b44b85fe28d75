# SPDX-License-Identifier: Apache-2.0
"""The additive model of `dp-forest` and `dp-tree`: noisy counts of many trees combined into one model."""
