"""List the theorems that extend a computation on one instance to all weights of a shape, or to all encoders.

Page: docs/audit.md
"""

from functools import partial

from verify.ranks.linear_relations import rank_upper_bound_for_all_weights
from verify.theorems.capacity.beyond_degree import forbids_one_head_by_orders, majority_heads
from verify.theorems.capacity.counting_matrix import counting_rank
from verify.theorems.capacity.divergence_floor import collinear_divergence_floor, relation_divergence_floor
from verify.theorems.capacity.interpolated_distributions import most_interpolated_distributions
from verify.theorems.capacity.parity import parity_errors, parity_floor
from verify.theorems.capacity.prime_roots import independent_exponentials
from verify.theorems.capacity.sign_patterns import heads_for_every_labelling
from verify.theorems.capacity.sign_relation import forbids_heads
from verify.theorems.capacity.two_token_rank import two_token_ceiling
from verify.theorems.encoders.encoder_floor import encoder_floor
from verify.theorems.encoders.line_infimum import least_arrangement_floor
from verify.theorems.encoders.logit_range import (
    admissible_range_floor,
    best_trade_off,
    divergence_floor_at_range,
    largest_range,
)
from verify.theorems.encoders.low_entropy_bound import largest_deviation
from verify.theorems.encoders.ordering_floor import ordering_floor
from verify.theorems.encoders.truncation_bound import least_squares_bound
from verify.theorems.evidence.quantifier import Quantifier
from verify.theorems.evidence.theorem import Theorem
from verify.theorems.memories.left_out_bound import left_out_bound
from verify.theorems.memories.outer_product_capacity import some_labels_are_not_stored
from verify.theorems.saturated_layers.affine_hull import mixed_rank_ceiling
from verify.theorems.saturated_layers.block_certificate import certify_blocks
from verify.theorems.saturated_layers.output_rank import output_rank_ceiling
from verify.theorems.saturated_layers.sinusoidal_positions import room_for_tokens

_WEIGHTS, _ENCODERS = Quantifier.ALL_WEIGHTS, Quantifier.ALL_ENCODERS
_ceiling_of_weights = partial(Theorem, over=_WEIGHTS, gives="an upper bound")
_floor_of_weights = partial(Theorem, over=_WEIGHTS, gives="a lower bound")
_floor_of_encoders = partial(Theorem, over=_ENCODERS, gives="a lower bound")
_verdict_of_weights = partial(Theorem, over=_WEIGHTS, gives="a verdict")
_of_these = partial(Theorem, over=Quantifier.THESE)

RANK = _ceiling_of_weights(
    "Theorem G3 of the ranks (U1, U1', U2)", "docs/claims/capacity.md", "Theorem G3", rank_upper_bound_for_all_weights
)
"""The rank of the features on given contexts."""

ONE_HEAD_LABELS = _verdict_of_weights(
    "the relation of heads of any width", "docs/claims/heads_of_any_width.md", "Theorem H1", forbids_heads
)
"""Labels that a number of heads do not memorize: one, unless said otherwise."""

CYCLIC_ORDERS = _verdict_of_weights(
    "Theorem TD2 of three cyclic orders", "docs/claims/threshold_degree.md", "Theorem TD2", forbids_one_head_by_orders
)
"""Labels of threshold degree 1 that one head does not hold."""

MAJORITY_HEADS = _floor_of_weights(
    "Theorem TD2 of the majority", "docs/claims/threshold_degree.md", "Theorem TD2", majority_heads
)
"""How many heads hold the majority of exclusive ors."""

HEADS_FOR_EVERY_LABELLING = _floor_of_weights(
    "Warren's count", "docs/claims/labels_beyond_heads.md", "Derivation", heads_for_every_labelling
)
"""How many heads memorize every labelling."""

ONE_HEAD_DIVERGENCE = _floor_of_weights(
    "Theorem O1 of heads of any width", "docs/claims/theorem_1.md", "Theorem O1", relation_divergence_floor
)
"""The divergence of heads of any width, one unless said otherwise, from given distributions."""

PARITY_ERRORS = _floor_of_weights(
    "Theorem H3 of parity", "docs/claims/heads_of_any_width.md", "Theorem H3", parity_errors
)
"""On how many of all contexts of bits a number of heads is wrong about the parity."""

PARITY_DIVERGENCE = _floor_of_weights(
    "Theorem H3 of noisy parity", "docs/claims/heads_of_any_width.md", "Theorem H3", parity_floor
)
"""The mean divergence of a number of heads from the distributions of a noisy parity."""

COLLINEAR_DIVERGENCE = _floor_of_weights(
    "Theorem O2 of one head", "docs/claims/theorem_1.md", "Theorem O2", collinear_divergence_floor
)
"""The divergence of one head of width 1 from three distributions."""

ENCODER_DIVERGENCE = _floor_of_encoders(
    "Theorem SE1 of encoders", "docs/claims/sequence_encoder.md", "Derivation", encoder_floor
)
"""The mean divergence of encoders of a rank from given distributions."""

ORDER_OF_TOKENS = _floor_of_encoders(
    "the order of the tokens", "docs/claims/sequence_encoder.md", "Derivation", ordering_floor
)
"""The mean divergence of encoders of rank 1 from given distributions."""

LINE = _floor_of_encoders(
    "the places on a line", "docs/claims/lookup_in_two_dimensions.md", "Derivation", least_arrangement_floor
)
"""The divergence of encoders of rank 1 from labels with given masses."""

RANGE = _floor_of_encoders("the range of rank one", "docs/claims/logit_range.md", "Derivation", admissible_range_floor)
"""The range of logits of rank 1 that are near two distributions."""

RANGE_CEILING = _of_these(
    "Lemma 4, repaired", "docs/claims/logit_range.md", "Derivation", largest_range, gives="an upper bound"
)
"""The range of logits whose probabilities are all at least a given number."""

DIVERGENCE_AT_RANGE = _floor_of_encoders(
    "the cost of a range", "docs/claims/logit_range.md", "Derivation", divergence_floor_at_range
)
"""The divergence of encoders of rank 1 with logits of a bounded range from two distributions."""

TRADE_OFF = _floor_of_encoders("the price of a range", "docs/claims/logit_range.md", "Derivation", best_trade_off)
"""The least sum of divergence and price of the range, of encoders of rank 1."""

LABELS_OF_A_MATRIX = _verdict_of_weights(
    "Theorem V3 of outer products", "docs/claims/outer_product_memory.md", "Derivation", some_labels_are_not_stored
)
"""Labels that no matrix stores for given inputs."""

MIXED_RANK = _ceiling_of_weights(
    "the affine hull of the tokens", "docs/claims/context_rank.md", "Derivation", mixed_rank_ceiling
)
"""The rank of what attention mixes on given contexts."""

TWO_TOKENS = _ceiling_of_weights("two tokens", "docs/claims/two_tokens.md", "Derivation", two_token_ceiling)
"""The rank of what attention mixes on a context of two tokens."""

OUTPUT_RANK = _ceiling_of_weights(
    "the widths of values and outputs", "docs/claims/saturated_heads.md", "Statement", output_rank_ceiling
)
"""The rank of the outputs of a layer."""

BLOCKS = _of_these(
    "Theorem Z1 of saturated heads", "docs/claims/saturated_heads.md", "Theorem Z1", certify_blocks, gives="a verdict"
)
"""The block condition of given queries, under which their mixed inputs are independent for some weights."""

INDEPENDENT_EXPONENTIALS = _of_these(
    "Lindemann and Weierstrass, with Besicovitch",
    "docs/claims/generic_embeddings.md",
    "Derivation",
    independent_exponentials,
    gives="a verdict",
)
"""The algebraic independence of exponentials of square roots of primes."""

LEFT_OUT = _of_these(
    "Theorem 1 with contexts left out",
    "docs/claims/theorem_1_tail.md",
    "Derivation",
    left_out_bound,
    gives="an upper bound",
)
"""What the contexts cost that are left out, where the features of the kept ones are independent."""

REPAIRED_THEOREM_2 = _of_these(
    "Theorem 2, repaired", "docs/claims/theorem_2.md", "Derivation", largest_deviation, gives="a value"
)
"""The constant C of given rows: below 1/2 the bounds hold for all distributions and tokens."""

LEAST_SQUARES = _of_these(
    "Theorem P2 of least squares",
    "docs/claims/least_squares.md",
    "Derivation",
    least_squares_bound,
    gives="an upper bound",
)
"""The divergence of a truncation with given singular values, for every prior."""

COUNTING_MATRIX = _ceiling_of_weights(
    "the columns of the counting matrix",
    "docs/claims/lemma_2_steps.md",
    "The determinant",
    counting_rank,
)
"""The rank of the counting matrix times embeddings."""

ROOM_FOR_TOKENS = _of_these(
    "Weyl's inequality", "docs/claims/assumptions.md", "Sinusoidal positions", room_for_tokens, gives="a lower bound"
)
"""How long tokens may be that leave sinusoidal positions independent."""

INTERPOLATED_DISTRIBUTIONS = _ceiling_of_weights(
    "the count of distributions", "docs/claims/knots.md", "Derivation", most_interpolated_distributions
)
"""How many contexts a model of a shape can have arbitrary distributions on."""
