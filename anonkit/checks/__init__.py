# SPDX-License-Identifier: Apache-2.0
"""The independent eye: recounts, validation and audits that share no code with the methods they look at."""
