"""Systems that need no model, of which it is known which should be better.

Other reports are those of the same references.

- reference: the reference itself. reordered: its sentences in another order.
- denial planted: the reference with one of its findings denied, where it has one.
- nearest by labels: the other report whose labels are nearest. A system that retrieves
  knows the image, which is not in the data; the labels stand in for it, so this is an
  oracle. Nearest: fewest findings that one report has and the other has not, then most
  labels of equal value; of equally near ones one is drawn.
- nearest by indication: the other report whose indication is nearest (cosine of words
  weighted by rarity), where there are indications: what may be known without the image.
- always normal: one and the same normal report. shuffled: another report, drawn.
"""

import math
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from spacy_mcse.data import ReportFacts, read_facts

# Where PYTHONSAFEPATH is set, a script does not see the modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from planted_errors import DENIED, changes
from validation import Labelled, findings

REFERENCE, REORDERED, PLANTED = "reference", "reordered", "denial planted"
BY_LABELS, BY_INDICATION = "nearest by labels", "nearest by indication"
ALWAYS_NORMAL, SHUFFLED = "always normal", "shuffled"
NORMAL = (
    "Normal heart size. Mediastinal and hilar contours are unremarkable. Both lungs "
    "are clear, without consolidation or edema. No pleural effusion and no "
    "pneumothorax. The bones show nothing acute."
)
WORD = re.compile(r"[a-z]+")
# Not behind the number of a list.
SENTENCE_END = re.compile(r"(?<=[A-Za-z)][.!])\s+")
HEADING = re.compile(r"\s*[A-Za-z][\w /&-]*:")
ENDS = (".", "!", "?", ":", ";")


def simple_systems(
    reports: Sequence[Labelled], nlp: Any, seed: int
) -> dict[str, list[str]]:
    """Candidates of each simple system that the data allow, one for each reference.

    RAISES (ValueError): For fewer than two reports.
    """
    if len(reports) < 2:
        raise ValueError("Simple systems need two reports at least.")
    texts = [report.text for report in reports]
    facts = [read_facts(doc) for doc in nlp.pipe(texts)]
    built = {
        REFERENCE: texts,
        REORDERED: [reordered(t, random.Random(f"{seed} {t}")) for t in texts],
        PLANTED: [planted(t, f, seed) for t, f in zip(texts, facts, strict=True)],
    }
    # Reports of the generated file that are in the other half of OpenI have no labels.
    if all(report.labels for report in reports):
        near = nearest_by_labels([report.labels for report in reports], seed)
        built[BY_LABELS] = [texts[at] for at in near]
    indications = [report.indication for report in reports]
    if any(indications):
        near = nearest_by_words(indications, seed)
        built[BY_INDICATION] = [texts[at] for at in near]
    built[SHUFFLED] = [texts[at] for at in deranged(len(texts), seed)]
    built[ALWAYS_NORMAL] = [NORMAL] * len(texts)
    return built


def reordered(text: str, rng: random.Random) -> str:
    """The sentences of each block of a report in another order.

    Blocks keep their places, and what stands behind a heading stays there: of "Bones:
    normal." the order is part of what is said.
    """
    new = []
    for block in blocks(text):
        parts = [part.strip() for part in SENTENCE_END.split(block) if part.strip()]
        first = parts[:1] if HEADING.match(block) else []
        others = parts[len(first) :]
        if len(others) > 1:
            # A last sentence without a full stop would run into the next.
            ended = [part if part.endswith(ENDS) else f"{part}." for part in others]
            block = " ".join([*first, *rng.sample(ended, len(ended))])
        new.append(block)
    return "\n".join(new)


def blocks(text: str) -> list[str]:
    """The lines of a report, joined where a line goes on in the next."""
    found: list[str] = []
    for line in text.splitlines():
        goes_on = found and found[-1].strip() and not found[-1].rstrip().endswith(ENDS)
        if goes_on and line.strip() and not HEADING.match(line):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def planted(text: str, facts: ReportFacts, seed: int) -> str:
    """A report with one of its findings denied; as it is where it has none."""
    rng = random.Random(f"{seed} {text}")
    return dict(changes(text, facts, rng)).get(DENIED, text)


def deranged(n: int, seed: int) -> list[int]:
    """Another number for each of n numbers: one circle through all of them."""
    order = random.Random(seed).sample(range(n), n)
    after = dict(zip(order, [*order[1:], order[0]], strict=True))
    return [after[at] for at in range(n)]


def nearest_by_labels(
    rows: Sequence[Mapping[str, Optional[int]]], seed: int
) -> list[int]:
    """Number of another row for each row: the nearest labels, drawn from equals."""
    names = sorted({name for row in rows for name in row})
    # Not mentioned is a value of its own.
    values = np.array(
        [[2 if row.get(n) is None else row[n] for n in names] for row in rows]
    )
    kinds = sorted({name for row in rows for name in findings(row)})
    found = np.array([[name in findings(row) for name in kinds] for row in rows])
    # Findings count first; all labels together are one step of them.
    differ = (found[:, None] != found[None]).sum(axis=2) * (len(names) + 1)
    return nearest(-(differ + (values[:, None] != values[None]).sum(axis=2)), seed)


def nearest_by_words(texts: Sequence[str], seed: int) -> list[int]:
    """Number of another text for each: cosine of words, rare ones counting more."""
    words = [Counter(WORD.findall(text.lower())) for text in texts]
    frequency = Counter(word for found in words for word in found)
    index = {word: at for at, word in enumerate(sorted(frequency))}
    vectors = np.zeros((len(texts), max(1, len(index))))
    for row, found in zip(vectors, words, strict=True):
        for word, times in found.items():
            row[index[word]] = times * math.log(len(texts) / frequency[word])
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return nearest(np.round(vectors @ vectors.T, 9), seed)


def nearest(similarity: NDArray[Any], seed: int) -> list[int]:
    """The column with the highest value of each row, off the diagonal."""
    rng = random.Random(seed)
    similarity = similarity.astype(np.float64)
    np.fill_diagonal(similarity, -np.inf)
    best = similarity.max(axis=1)
    return [
        rng.choice(np.flatnonzero(row == high).tolist())
        for row, high in zip(similarity, best, strict=True)
    ]
