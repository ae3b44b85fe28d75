# SPDX-License-Identifier: Apache-2.0
"""Promises: what a method claims before it has seen any data, and how the claim is checked on the output."""
