# SPDX-License-Identifier: Apache-2.0
"""The search for a k-anonymous recoding on coded columns: importance, selection, generalization, partitioning."""
