# SPDX-License-Identifier: Apache-2.0
"""Independent verification of releases from their files alone; no code is shared with the methods under test."""
