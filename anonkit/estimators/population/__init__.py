# SPDX-License-Identifier: Apache-2.0
"""Risk against a population, estimated from a sample: population uniques, individual risk, what makes people unique.

Every estimate here assumes that the sample was drawn simply at random, or with known weights. None is a promise.
"""
