# SPDX-License-Identifier: Apache-2.0
"""What the owner declares about a table: columns, roles, domains, units, hierarchies."""

from anonkit.policy.declaration import Column, Policy, Role

__all__ = ["Column", "Policy", "Role"]
