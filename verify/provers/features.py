"""What the heads of a model of one attention read from the contexts, for the statements about its rank or saturation.

Page: docs/rigour/certificate.md
"""

from constructions.errors import InputError
from constructions.model.model import Model
from constructions.model.shapes import is_dana_network, is_heads_alone, is_mahdavi_layer
from constructions.tasks.any_task import AnyTask, Listing
from verify.arithmetic.enclosure import Enclosure
from verify.forward.heads import AttendedVectors, enclose_features, enclose_layer
from verify.provers.evaluation import JudgedModel


def is_one_attention(model: Model) -> bool:
    """Whether a model has features of which it is stated that they are independent, or heads that are saturated."""
    return is_dana_network(model) or is_mahdavi_layer(model)


def has_features(model: Model) -> bool:
    """Whether what its heads read has a rank of which a certificate may speak."""
    return is_one_attention(model) or is_heads_alone(model)


def required_features(judged: JudgedModel) -> tuple[Listing, Enclosure]:
    """Return the contexts and their features, for a statement about their rank that somebody asks for.

    Raises:
        InputError: The contexts have several lengths, or the model is not one of one attention.
    """
    listing = judged.task.listing
    if listing is None:
        raise InputError("rank", "is that of contexts of one length")
    read = features(judged)
    if read is None:
        raise InputError("rank", "is that of a model of one attention, this one has other blocks")
    return listing, read


def heads(judged: JudgedModel) -> AttendedVectors | None:
    """Return what the heads of a layer make of the vectors that they read; none of other models."""

    def enclosed() -> AttendedVectors | None:
        listing = judged.task.listing
        if listing is None or judged.model.reads_tokens or not has_features(judged.model):
            return None
        return enclose_layer(judged.model, listing.inputs, progress=judged.progress)

    return judged.once("heads", enclosed)


def features(judged: JudgedModel) -> Enclosure | None:
    """Return what the heads of a model of one attention read, `[T, columns]`: of vectors their mixed inputs; none of
    other models.
    """

    def enclosed() -> Enclosure | None:
        model, listing = judged.model, judged.task.listing
        if listing is None or not model.reads_tokens or not has_features(model):
            return None
        judged.progress("features", None, f"{judged.task.n_contexts} x {model.n_heads * model.d_head}")
        return enclose_features(model, listing.inputs)

    of_vectors = heads(judged)
    return judged.once("features", enclosed) if of_vectors is None else of_vectors.mixed


def estimated_bytes(model: Model, task: AnyTask) -> int:
    """Estimated peak of a statement about the rank: copies of the features, and five square matrices."""
    size = task.n_contexts
    if not has_features(model) or not model.reads_tokens:
        return 0  # of vectors the answers already take what their features do
    return 8 * (3 * size * model.n_heads * model.d_head + 5 * size**2) + 2**28
