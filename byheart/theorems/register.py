"""List the claims and the names of their constructions, without importing numerical code.

Page: docs/audit.md
"""

from constructions.named.names import leading_from
from verify.theorems.claim import Claim, Judgement, Kind
from verify.theorems.claims import claim, claims, listing, no_claim, register

__all__ = ["Claim", "Judgement", "Kind", "claim", "claims", "leading_from", "listing", "no_claim", "register"]
