# SPDX-License-Identifier: Apache-2.0
"""The search for a k-anonymous recoding: importance, selection, generalization, classes, on coded columns."""
