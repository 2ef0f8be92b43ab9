"""A model that follows a rule with a state, with the proof that it does: ask it for an answer, export it.

Page: docs/folds.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import overload

from constructions.folds.fold import Fold
from constructions.folds.typed import input_in_words, number_said, typed_choices
from constructions.model.model import Model
from verify.certificates.certificate import Certificate
from verify.folds.decoding import decoded
from verify.provers.domain import load_fold as load_files


@dataclass(frozen=True)
class FoldAnswer:
    """The answer of a model to one input, token by token.

    Args:
        asked: The input, as a person types it.
        prompt: Its tokens.
        decoded: What greedy decoding says, each token proved to have the strictly largest logit in real arithmetic;
            shorter than the answer where two logits are equal, or too close to tell which is larger.
        answer: What the rule says.
        number: The number that the tokens said are, of a rule that adds; else none.
        expected: That of the answer.
        right: Whether it says what the rule says; none where it is not known.
    """

    asked: str
    prompt: tuple[int, ...]
    decoded: tuple[int, ...]
    answer: tuple[int, ...]
    number: int | None
    expected: int | None
    right: bool | None

    def __str__(self) -> str:
        if len(self.decoded) < len(self.answer):
            return "undecided"
        return _spaced(self.decoded) if self.number is None else str(self.number)

    def headline(self) -> str:
        """Return the input, the answer, and whether it is that of the rule, in a line.

        Example:
            >>> FoldAnswer("0 + 0", (0, 0), (0, 3), (0, 0), 30, 0, False).headline()
            '0 + 0 -> 30: WRONG, PROVED; the rule says 0'
        """
        expected = _spaced(self.answer) if self.expected is None else str(self.expected)
        if self.right is None:
            return f"{self.asked} -> UNDECIDED; the rule says {expected}"
        if not self.right:
            return f"{self.asked} -> {self}: WRONG, PROVED; the rule says {expected}"
        return f"{self.asked} -> {self}: RIGHT, PROVED"

    def words(self) -> str:
        """Return the line of the answer, and the tokens that are said."""
        return f"{self.headline()}. {self.decoded_words()}"

    def decoded_words(self) -> str:
        """Return the tokens that are said, and where they end, in a sentence."""
        if not self.decoded:
            return "It says nothing: two logits are equal, or too close to tell which is larger."
        said = f"It says {_spaced(self.decoded)}, each token proved to have the largest logit"
        whole = len(self.decoded) == len(self.answer)
        return f"{said}." if whole else f"{said}; then two logits are equal, or too close to tell which is larger."


@dataclass(frozen=True, eq=False, repr=False)
class ProvedFold:
    """A model, the rule with a state that it follows, and the certificate of that.

    Args:
        model: The weights.
        fold: The rule.
        certificate: What is proved.

    Example:
        >>> from constructions.folds.fold import addition
        >>> from constructions.memories.heads.adder import adder
        >>> from verify.provers.domain import certify_fold
        >>> model, fold = adder(2, base=2), addition(2, base=2)
        >>> proved = ProvedFold(model, fold, certify_fold(model, fold).certificate)
        >>> proved.ask("3 + 2").number, str(proved)[:35]
        (5, 'MEMORIZED, PROVED: 16 of 16 inputs,')
    """

    model: Model
    fold: Fold
    certificate: Certificate

    def __str__(self) -> str:
        return self.certificate.headline()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<b>{escape(str(self))}</b>"

    @overload
    def ask(self, asked: str) -> FoldAnswer: ...

    @overload
    def ask(self, asked: list[str]) -> list[FoldAnswer]: ...

    def ask(self, asked: str | list[str]) -> FoldAnswer | list[FoldAnswer]:
        """Return the answer of the model to an input, or to each of a list of inputs, with a proof made on the spot.

        Args:
            asked: All tokens of a prompt; of a rule that adds also two numbers, such as ``"3 + 5"``.

        Raises:
            InputError: No input of the rule.
        """
        if isinstance(asked, list):
            return [self.ask(each) for each in asked]
        choices = typed_choices(self.fold, asked)
        [prompt], [answer] = self.fold.prompts(choices).tolist(), self.fold.answers(choices).tolist()
        said = decoded(self.model, prompt, len(answer))
        is_whole, so_far = len(said) == len(answer), list(said) == answer[: len(said)]
        return FoldAnswer(
            asked=input_in_words(self.fold, choices),
            prompt=tuple(prompt),
            decoded=said,
            answer=tuple(answer),
            number=number_said(self.fold, said),
            expected=number_said(self.fold, answer),
            right=False if not so_far else True if is_whole else None,
        )


def load_fold(folder: Path | str) -> ProvedFold:
    """Load a rule with a state written by `certify` or `build`; proofs are repeated only when an input is asked.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
    """
    certificate = Certificate.load(Path(folder))
    return ProvedFold(*load_files(Path(folder), certificate), certificate)


def _spaced(tokens: Sequence[int]) -> str:
    return " ".join(map(str, tokens))
