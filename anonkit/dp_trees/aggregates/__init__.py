# SPDX-License-Identifier: Apache-2.0
"""Published aggregates of a trusted owner: what is asked for, what is measured for it, how it is counted and shown."""
