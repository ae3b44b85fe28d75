# SPDX-License-Identifier: Apache-2.0
"""Evidence for a rule of law or a standard: what the files of a release show of it, and what stays open."""
