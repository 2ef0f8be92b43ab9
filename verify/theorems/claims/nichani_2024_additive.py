r"""Nichani et al.: facts of subjects and relations by one head that adds what each of the two suggests.

Page: docs/claims/factual_recall.md
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
from flint import fmpz_mat

from constructions.memories.bigrams.suggested_answers import additive_recall, random_answers, random_recall
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import LABELS_OF_A_MATRIX
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="nichani-2024.additive",
    title="Facts of subjects and relations by a sum",
    source="Nichani, Lee, Bietti (2025; arXiv 2412.06538), factual recall with attention alone",
    kind="statement",
    printed=(
        "A layer of attention recalls all facts of S subjects and R relations, whose relations have disjoint sets of "
        "answers, as soon as its value parameters are S R up to logarithms."
    ),
    judgement="not-judged",
    truth=(
        "The number of parameters is not decided here. With disjoint answers the sum of the indicators of subject and "
        "relation puts every answer in front by [[margin: 1]], and [[heads: one]] head with equal weights and no "
        "neurons computes it, with (S + R) A values for A answers. Without disjoint answers no sum recalls XOR."
    ),
    reconstructed="the hypothesis and the network: the paper was at hand in its abstract only",
    page="docs/claims/factual_recall.md",
    hypotheses=conditions("S, R, answers >= 1", "seed >= 0"),
    parameters={"subjects": 8, "relations": 6, "answers": 4, "seed": 0},
    build=random_recall,
)

_SIZES = ((1, 1, 1), (4, 1, 3), (1, 4, 2), (8, 6, 4))  # subjects, relations, answers


_SIZES_FULL = ((30, 10, 5),)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for subjects, relations, answers in _SIZES + (_SIZES_FULL if full else ()):
        table = random_answers(subjects=subjects, relations=relations, answers=answers, seed=0)
        yield _recalled(table, relations * answers)
    yield _all_tables(subjects=3, relations=2, answers=2)
    yield _exclusive_or()


def _are_disjoint(table: np.ndarray) -> bool:
    """Tell whether no answer belongs to two relations."""
    columns = [set(column) for column in table.T.tolist()]
    return sum(map(len, columns)) == len(set().union(*columns))


def _recalled(table: np.ndarray, answers: int) -> Evidence:
    task, model = additive_recall(table, answers)
    certificate = certify_memorization(model, task).certificate
    facts = task.n_contexts
    no_scores = not model.W_Q.any() and not model.W_K.any() and model.n_heads == 1 and len(model.blocks) == 1
    subjects, relations = table.shape
    same = (task.labels == subjects + relations + table.ravel()).all()
    return Evidence(
        "part",
        f"{facts} facts of {subjects} subjects and {relations} relations with disjoint answers, {answers} in all: one "
        "head with equal weights",
        "all answers in front",
        f"{certificate.answers.values['memorized']} of {facts} in front",
        Method(certificate.answers.method, Means.ENCLOSURES),
        Verdict.all_of([certificate.verdict, decided(no_scores and bool(same) and _are_disjoint(table))]),
        {"sha256": model.sha256()},
        quantifier=Quantifier.SAMPLED,
        compared=(Comparison(model.n_heads, "=", stated(CLAIM, "heads")),),
    )


def least_lead(table: np.ndarray, answers: int) -> int | None:
    """Return the least margin of the answer over all others in the sum of indicators; None if there is only one
    answer.
    """
    of_subject = [set(row) for row in table.tolist()]
    of_relation = [set(column) for column in table.T.tolist()]
    leads = []
    for s, r in product(range(table.shape[0]), range(table.shape[1])):
        scores = [(a in of_subject[s]) + (a in of_relation[r]) for a in range(answers)]
        right = int(table[s, r])
        leads += [scores[right] - score for a, score in enumerate(scores) if a != right]
    return min(leads, default=None)


def _all_tables(*, subjects: int, relations: int, answers: int) -> Evidence:
    tables = list(product(range(answers), repeat=subjects * relations))
    leads = []
    for chosen in tables:
        table = np.array(chosen).reshape(subjects, relations) + answers * np.arange(relations)
        leads.append(least_lead(table, relations * answers))
    return Evidence(
        "part",
        f"the {len(tables)} tables of {subjects} subjects and {relations} relations with {answers} answers each: the "
        "lead of the answers in the sum of the two indicators",
        f"{stated(CLAIM, 'margin')} at least",
        f"{min(lead for lead in leads if lead is not None)} at least",
        Method("counting", Means.EXACT),
        decided(len(tables) == answers ** (subjects * relations) and None not in leads),
        quantifier=Quantifier.EVERY,
        compared=(Comparison(min(lead for lead in leads if lead is not None), "=", stated(CLAIM, "margin")),),
    )


def _exclusive_or() -> Evidence:
    """What a sum over subject and relation reads: one indicator of each, so that a table is a matrix on these."""
    inputs = np.array([[1 - s, s, 1 - r, r] for s in (0, 1) for r in (0, 1)])
    refused = LABELS_OF_A_MATRIX.at(inputs=inputs)
    table = np.array([[0, 1], [1, 0]])
    lead = least_lead(table, 2)
    # Leads of one answer over the other at the four facts: with these signs they sum to 0 for any suggestions.
    relation = (inputs * np.array([1, -1, -1, 1])[:, None]).sum(axis=0).tolist()
    return Evidence(
        "boundary",
        "XOR: two subjects, two relations with the same two answers, indicators of subject and relation as inputs",
        "some answers that no sum recalls",
        f"rank {fmpz_mat(inputs.tolist()).rank()} of 4 inputs, relation {'holds' if not any(relation) else 'fails'}; "
        f"the sum of indicators leads by {lead}",
        Method("a linear relation between the inputs, in integers", Means.EXACT),
        proved(not any(relation) and lead is not None and lead <= 0 and not _are_disjoint(table)),
        {"inputs": inputs.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(refused, "=", Verdict.PROVED),),
    )
