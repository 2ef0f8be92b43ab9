"""The audit of the claims.

Page: docs/audit.md
"""

from verify.theorems.audit import audit_claims, audit_outcome, audit_summaries

__all__ = ["audit_claims", "audit_outcome", "audit_summaries"]
