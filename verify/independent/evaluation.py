"""A model on a task, evaluated again and again with more bits: integers where they are quicker, balls for any blocks.

Page: docs/rigour/certificate.md
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from flint import arb, arb_mat, ctx

from verify.arithmetic.integers import SMALL
from verify.independent.ball_forward import BITS, BallForward, Features, NoInformationError, Passed
from verify.independent.exact_forward import ExactForward, ExactLogits
from verify.independent.integer_forward import IntegerForward, Outputs
from verify.independent.integer_rank import FeatureMatrix, FeatureRows
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_task import PlainTask, PlainVectorTask
from verify.progress import Progress

_EXACT = 2**20  # bits: more than integers have that come of a few products of float64 numbers


@dataclass
class Evaluation:
    """What a model does with the examples of a task: the memorized contexts, and after them those of the tail.

    Up to 128 bits a network of one attention over tokens is evaluated in integers, and other models in exact ones where
    all their heads are all but hard; everything else, and more bits, in balls.
    """

    model: PlainModel
    task: PlainTask | PlainVectorTask
    progress: Progress
    _integers: IntegerForward | None = None
    _memorized: Outputs | None = None
    _passed: dict[int, Passed] = field(default_factory=dict)
    _soft: bool = False

    @property
    def is_network(self) -> bool:
        """Whether the model is the network of one attention over tokens that integers evaluate."""
        return self.model.is_one_attention(skip=True, queries="stream")

    @property
    def is_heads_alone(self) -> bool:
        """Whether the model is that network without its skip connection."""
        return self.model.is_one_attention(skip=False, queries="stream")

    @property
    def is_layer(self) -> bool:
        """Whether the model is the attention layer that reads vectors."""
        return self.model.is_one_attention(skip=False, queries="task")

    def outputs(self, examples: Sequence[int], *, bits: int, label: str) -> Iterator[tuple[list[int], list[arb], arb]]:
        """Balls of the outputs, of logits up to a constant, and how far each may be off beside that.

        Args:
            examples: Numbers of examples.
            bits: Precision.
            label: What is told of the progress.

        Returns:
            Iterator of places in `examples`, one or several, and the outputs that all these have.

        Raises:
            NoInformationError: A ball became too wide to say anything.
        """
        if bits <= BITS and not self.is_network and (exact := self._exactly(examples, label)) is not None:
            members: dict[int, list[int]] = {}
            for place, row in enumerate(exact.places):
                members.setdefault(row, []).append(place)
            for places, (outputs, error) in zip(members.values(), exact.of([*members]), strict=True):
                yield places, outputs, error
            return
        for place, (outputs, error) in enumerate(self._one_by_one(examples, bits, label)):
            yield [place], outputs, error

    def _exactly(self, examples: Sequence[int], label: str) -> ExactLogits | None:
        """The logits in exact integers; none where the heads are not hard, which is found out once."""
        if self._soft or not isinstance(self.task, PlainTask) or not ExactForward.fits(self.model):
            return None
        self.progress(label, None, "exact integers")
        everything = [*self.task.contexts, *self.task.tail_contexts]
        try:
            return ExactForward(self.model).run([everything[example] for example in examples])
        except NoInformationError:
            self._soft = True
            return None

    def _one_by_one(self, examples: Sequence[int], bits: int, label: str) -> Iterator[tuple[list[arb], arb]]:
        if bits <= BITS and self.is_network:
            yield from _in_balls(self._in_integers(examples, bits, label))
        elif bits in self._passed and max(examples) < len(self._passed[bits].outputs):
            for example in examples:
                yield self._passed[bits].outputs[example], arb(0)
        else:
            self.progress(label, None, f"balls of {bits} bits")
            forward = BallForward(self.model, self.task, bits=bits, examples=examples)
            for start in range(0, len(examples), forward.together):
                for row in forward.run(examples[start : start + forward.together]).outputs:
                    yield row, arb(0)
                self.progress(label, min(1.0, (start + forward.together) / len(examples)), f"balls of {bits} bits")

    def features(self, *, bits: int, feature_bits: int) -> FeatureMatrix:
        """The features of the memorized contexts as integers: the values of a network, the mixed inputs of a layer.

        Args:
            bits: Precision.
            feature_bits: Bits of the integers.

        Raises:
            NoInformationError: A ball became too wide to say anything.
        """
        if bits <= BITS and self.is_network:
            assert isinstance(self.task, PlainTask)
            self._memorized = self._forward().run(
                self.task.contexts,
                label="features",
                progress=self.progress,
                feature_bits=feature_bits,
            )
            return self._memorized
        passed = self._pass(bits)
        with ctx.workprec(bits):
            return FeatureRows.of(passed.features, passed.last, feature_bits)

    def feature_balls(self, *, bits: int, with_skip: bool) -> arb_mat:
        """The features of the memorized contexts in balls, up to a common factor, for proofs of ranks.

        Args:
            bits: Precision.
            with_skip: Whether the rows of the stream at the last position stand before them.

        Raises:
            NoInformationError: A ball became too wide to say anything.
        """
        with ctx.workprec(bits):
            if bits <= BITS and self.is_network:
                found = self.features(bits=bits, feature_bits=2 * SMALL)
                error = found.features_error
                return arb_mat([[arb(n, error) for n in row] for row in found.feature_rows(with_skip)])
            passed = self._pass(bits)
            lasts = passed.last if with_skip else [[] for _ in passed.features]
            return arb_mat([[*last, *row] for last, row in zip(lasts, passed.features, strict=True)])

    def forget_features(self) -> None:
        """Let go of the features, which take more memory than anything else."""
        if self._memorized is not None:
            self._memorized.features.clear()
        for passed in self._passed.values():
            passed.features.clear()

    def shares(self, *, bits: int) -> list[list[arb]]:
        """The largest attention weight of each head of a layer, one row for each example.

        Raises:
            NoInformationError: A ball became too wide to say anything.
        """
        return self._pass(bits).shares

    def _pass(self, bits: int) -> Passed:
        """The memorized contexts with what their heads mix, kept."""
        if bits not in self._passed or not self._passed[bits].features:
            self.progress("features", None, f"balls of {bits} bits")
            kept: Features = "inputs" if self.is_layer else "values"
            examples = range(self.task.sizes()["contexts"])
            forward = BallForward(self.model, self.task, bits=bits, features=kept, examples=examples)
            self._passed[bits] = forward.run(examples)
        return self._passed[bits]

    def _in_integers(self, examples: Sequence[int], bits: int, label: str) -> Outputs:
        assert isinstance(self.task, PlainTask)
        if bits == BITS and self._memorized is not None and examples == range(len(self.task.contexts)):
            return self._memorized
        everything = [*self.task.contexts, *self.task.tail_contexts]
        contexts = [everything[example] for example in examples]
        return self._forward().run(contexts, label=label, progress=self.progress, bits=bits)

    def _forward(self) -> IntegerForward:
        if self._integers is None:
            self._integers = IntegerForward(self.model)
        return self._integers


def _in_balls(found: Outputs) -> Iterator[tuple[list[arb], arb]]:
    """The logits, exact, and how far each may be off."""
    unit = arb((1, -found.logit_scale))
    radius = found.logit_error * unit
    for logits in found.logits():
        with ctx.workprec(_EXACT):
            balls = (arb_mat(logits) * unit).tolist()
        for row in balls:
            yield row, radius
