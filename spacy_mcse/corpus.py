"""Scores of texts and Docs: one pair, or many pairs with a summary.

Each distinct text is parsed once per call, for references and candidates together.
A Doc becomes `ReportFacts` at once and is let go, so memory grows with the findings
and not with the Docs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from operator import index
from typing import Any, Optional, Union, cast

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

from .data import ReportFacts, read_facts
from .errors import Errors
from .results import FLAGS, MCSEScore
from .score import score_facts
from .signature import Signature, facts_signature

REFINER = "mcse_entity_refiner"
EMBEDDER = "mcse_embedder"
SIDES = ("reference", "candidate")
METRICS = ("mcse", "precision", "recall", "f1")
# Rows that a warning names before it counts the others.
MAX_NAMED = 20
# Values that one step of the bootstrap draws; bounds its memory.
_DRAW = 2_000_000

Report = Union[str, Doc]
_Item = Union[str, ReportFacts]


@dataclass(frozen=True)
class CorpusSummary:
    """What the scores of many pairs come to.

    n (int): Number of pairs.
    mean (dict): Mean of each metric.
    interval (dict): 95 % percentile bootstrap interval of each mean, (low, high).
    flags (dict): How many pairs have each flag.
    warnings (list[str]): What may be wrong with the input, with the rows.
    signature (Optional[Signature]): Where the scores come from; None without pairs
        and pipeline.
    """

    n: int
    mean: dict[str, float]
    interval: dict[str, tuple[float, float]]
    flags: dict[str, int]
    warnings: list[str]
    signature: Optional[Signature]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values for JSON; the signature as a str."""
        return {
            **asdict(self),
            "interval": {name: list(ends) for name, ends in self.interval.items()},
            "signature": None if self.signature is None else str(self.signature),
        }


@dataclass(frozen=True)
class CorpusScore:
    """Scores of many pairs and their summary.

    scores (list[MCSEScore]): One score for each pair, in order.
    summary (CorpusSummary): Means, intervals and warnings.
    """

    scores: list[MCSEScore]
    summary: CorpusSummary

    def to_dict(self) -> dict[str, Any]:
        return {
            "scores": [score.to_dict() for score in self.scores],
            "summary": self.summary.to_dict(),
        }


def score(
    reference: Report, candidate: Report, *, nlp: Optional[Language] = None
) -> MCSEScore:
    """Score one candidate report against its reference.

    reference (Union[str, Doc]): The report that is right.
    candidate (Union[str, Doc]): The report to judge.
    nlp (Optional[Language]): The pipeline for texts. If None, the default pipeline,
        loaded once per process.
    RETURNS (MCSEScore): The scores with their explanation.
    RAISES (TypeError): E401, E412. (ValueError): E103, E201, E202, E404, E405, E413.
    """
    references = _collect([reference], SIDES[0])
    candidates = _collect([candidate], SIDES[1])
    (result,) = iter_scores(references, candidates, nlp=nlp)
    return cast(MCSEScore, result)


def score_corpus(
    references: Iterable[Report],
    candidates: Iterable[Report],
    *,
    nlp: Optional[Language] = None,
    batch_size: int = 128,
    n_process: int = 1,
    n_resamples: int = 1000,
    seed: int = 0,
    progress: Optional[Callable[[int], None]] = None,
) -> CorpusScore:
    """Score many candidate reports against their references.

    references (Iterable[Union[str, Doc]]): The reports that are right.
    candidates (Iterable[Union[str, Doc]]): One report to judge for each reference.
    nlp (Optional[Language]): The pipeline for texts. If None, the default pipeline,
        loaded once per process.
    batch_size (int): Texts in one batch of the pipeline.
    n_process (int): Processes of the pipeline.
    n_resamples (int): Resamples of the bootstrap.
    seed (int): Seed of the bootstrap.
    progress (Optional[Callable]): Called with the number of pairs scored since the
        last call.
    RETURNS (CorpusScore): One score for each pair, in order, and the summary.
    RAISES (TypeError): E401 with side and row, E403, E412. (ValueError): E413 with
        side and row, E103, E402, E404, E409.
    """
    batch_size = whole_number("batch_size", batch_size)
    n_resamples = whole_number("n_resamples", n_resamples)
    seed = whole_number("seed", seed, least=0)
    n_process = check_processes(n_process)
    ones = _collect(_checked_list(references, "references"), SIDES[0])
    others = _collect(_checked_list(candidates, "candidates"), SIDES[1])
    if len(ones) != len(others):
        raise ValueError(
            Errors.E402.format(references=len(ones), candidates=len(others))
        )
    scores: list[MCSEScore] = []
    for result in iter_scores(
        ones, others, nlp=nlp, batch_size=batch_size, n_process=n_process
    ):
        scores.append(cast(MCSEScore, result))
        if progress is not None:
            progress(1)
    signature = None
    if not scores and nlp is not None:
        signature = pipeline_signature(nlp)
    summary = summarize(scores, n_resamples=n_resamples, seed=seed, signature=signature)
    return CorpusScore(scores=scores, summary=summary)


def doc_score(doc: Doc, other: Doc) -> MCSEScore:
    """Score a Doc as reference against another Doc as candidate.

    Needs only what is stored on the Docs, so it works after `to_bytes`, `DocBin` and
    worker processes. This is `doc._.mcse(other)`.

    doc (Doc): The reference.
    other (Doc): The candidate.
    RETURNS (MCSEScore): The scores with their explanation.
    RAISES (TypeError): E203. (ValueError): E201, E202, E404, E405.
    """
    return score_facts(read_facts(doc), read_facts(other))


def iter_scores(
    references: Sequence[_Item],
    candidates: Sequence[_Item],
    *,
    nlp: Optional[Language] = None,
    batch_size: int = 128,
    n_process: int = 1,
    keep_failed: bool = False,
) -> Iterator[Optional[MCSEScore]]:
    """Score pairs one after the other, as soon as their texts are parsed.

    references (Sequence[Union[str, ReportFacts]]): The reports that are right.
    candidates (Sequence[Union[str, ReportFacts]]): As many reports to judge.
    nlp (Optional[Language]): The pipeline for texts. If None, the default pipeline.
    batch_size (int): Texts in one batch of the pipeline.
    n_process (int): Processes of the pipeline.
    keep_failed (bool): Yield None for a pair with a text that the pipeline dropped,
        instead of raising an error.
    YIELDS (Optional[MCSEScore]): The score of each pair, in order.
    RAISES (TypeError): E412. (ValueError): E103, E404, E408.
    """
    pairs = list(zip(references, candidates, strict=True))
    if nlp is not None:
        _check_language(nlp)
    left = _uses(pairs)
    parsed: Iterator[tuple[str, Optional[ReportFacts]]] = iter(())
    if left:
        nlp = default_pipeline() if nlp is None else nlp
        check_pipeline(nlp)
        parsed = _parse(list(left), nlp, batch_size, n_process)
    facts: dict[str, Optional[ReportFacts]] = {}
    for row, pair in enumerate(pairs):
        found: list[Optional[ReportFacts]] = []
        for side, item in zip(SIDES, pair, strict=True):
            if isinstance(item, ReportFacts):
                found.append(item)
                continue
            while item not in facts:
                text, of_text = next(parsed)
                facts[text] = of_text
            found.append(facts[item])
            left[item] -= 1
            if not left[item]:
                del facts[item], left[item]
            if found[-1] is None and not keep_failed:
                raise ValueError(Errors.E408.format(side=side, row=row))
        first, second = found
        if first is None or second is None:
            yield None
        else:
            yield score_facts(first, second)


def summarize(
    scores: Sequence[MCSEScore],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    rows: Optional[Sequence[int]] = None,
    unit: str = "index",
    signature: Optional[Signature] = None,
) -> CorpusSummary:
    """Summarise the scores of many pairs.

    scores (Sequence[MCSEScore]): The scores.
    n_resamples (int): Resamples of the bootstrap.
    seed (int): Seed of the bootstrap.
    rows (Optional[Sequence[int]]): What warnings call each score. If None, its index.
    unit (str): What the numbers in `rows` are, "index" or "line".
    signature (Optional[Signature]): The signature for no scores at all.
    RETURNS (CorpusSummary): Means, intervals, counts and warnings.
    RAISES (ValueError): E409.
    """
    seed = whole_number("seed", seed, least=0)
    n_resamples = whole_number("n_resamples", n_resamples)
    values = np.array(
        [[getattr(score, name) for name in METRICS] for score in scores],
        dtype=np.float64,
    ).reshape(len(scores), len(METRICS))
    low, high = _interval(values, n_resamples, np.random.default_rng(seed))
    mean = values.mean(axis=0) if len(scores) else np.zeros(len(METRICS))
    numbers = list(range(len(scores)) if rows is None else rows)
    warnings = [] if scores else ["no pairs: all means are 0"]
    for side in SIDES:
        empty = [
            i for i, s in zip(numbers, scores, strict=True) if side in s.without_content
        ]
        if empty:
            warnings.append(
                f"{len(empty)} of {len(scores)} {side}s have no clinical content: "
                f"{_named(empty, unit)}"
            )
    return CorpusSummary(
        n=len(scores),
        mean={name: float(mean[i]) for i, name in enumerate(METRICS)},
        interval={
            name: (float(low[i]), float(high[i])) for i, name in enumerate(METRICS)
        },
        flags={flag: sum(flag in score.flags for score in scores) for flag in FLAGS},
        warnings=warnings,
        signature=scores[0].signature if scores else signature,
    )


def check_pipeline(
    nlp: Language, factories: Sequence[str] = (REFINER, EMBEDDER)
) -> None:
    """Check that a pipeline has components of some factories.

    RAISES (TypeError): E412 for what is no pipeline. (ValueError): E103 where a
        component is missing.
    """
    _check_language(nlp)
    found = set(nlp.pipe_names)
    found |= {nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}
    for factory in factories:
        if factory not in found:
            raise ValueError(
                Errors.E103.format(
                    factory=factory, found=", ".join(nlp.pipe_names) or "none"
                )
            )


def _check_language(nlp: Any) -> None:
    if not isinstance(nlp, Language):
        raise TypeError(Errors.E412.format(got=type(nlp).__name__))


def whole_number(name: str, value: Any, *, least: int = 1, more: str = "") -> int:
    """An int for any whole number, such as one of numpy.

    name (str): The argument, for the error.
    value (Any): The number.
    least (int): The smallest that is allowed.
    more (str): What else is allowed, for the error.
    RETURNS (int): The number.
    RAISES (ValueError): E409 for anything else.
    """
    number = _as_int(value)
    if number is None or number < least:
        allowed = f"{more}whole numbers from {least}"
        raise ValueError(
            Errors.E409.format(argument=name, got=repr(value), allowed=allowed)
        )
    return number


def check_processes(n_process: Any) -> int:
    """RAISES (ValueError): E409 for anything but -1 (all cores) and 1, 2, 3..."""
    if _as_int(n_process) == -1:
        return -1
    return whole_number("n_process", n_process, more="-1 (all cores), ")


def _as_int(value: Any) -> Optional[int]:
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None


def pipeline_name(nlp: Language) -> str:
    """Name and version of a pipeline as its meta has them now."""
    meta = nlp.meta
    return f"{meta['lang']}_{meta['name']}-{meta['version']}"


def pipeline_signature(nlp: Language) -> Signature:
    """The signature that scores of this pipeline will have."""
    check_pipeline(nlp)
    return facts_signature(_read(nlp(""), pipeline_name(nlp)))


@lru_cache(maxsize=1)
def default_pipeline() -> Language:
    """The default pipeline, loaded once per process."""
    from .pipelines import load

    return load()


def _checked_list(reports: Any, argument: str) -> Iterable[Any]:
    """Turn away what can be iterated but is no list of reports."""
    single = isinstance(reports, (str, bytes, Doc, Mapping, Set))
    if single or not isinstance(reports, Iterable):
        raise TypeError(
            Errors.E403.format(argument=argument, got=type(reports).__name__)
        )
    return reports


def _collect(reports: Iterable[Any], side: str) -> list[_Item]:
    items: list[_Item] = []
    for row, report in enumerate(reports):
        if isinstance(report, Doc):
            items.append(read_facts(report))
        elif isinstance(report, str):
            if not is_utf8(report):
                raise ValueError(Errors.E413.format(side=side, row=row))
            # The tokenizer takes no subclasses, such as the elements of an array.
            items.append(str(report))
        else:
            raise TypeError(
                Errors.E401.format(side=side, row=row, got=type(report).__name__)
            )
    return items


def is_utf8(text: str) -> bool:
    """Whether a text is free of lone surrogates, which spaCy cannot take."""
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True


def _uses(pairs: Iterable[tuple[_Item, _Item]]) -> dict[str, int]:
    """How often each distinct text is used, in the order of first use."""
    uses: dict[str, int] = {}
    for pair in pairs:
        for item in pair:
            if isinstance(item, str):
                uses[item] = uses.get(item, 0) + 1
    return uses


def _parse(
    texts: list[str], nlp: Language, batch_size: int, n_process: int
) -> Iterator[tuple[str, Optional[ReportFacts]]]:
    """Facts of each text, in order; None where an error handler dropped the Doc."""
    pipeline = pipeline_name(nlp)
    docs = nlp.pipe(
        ((text, i) for i, text in enumerate(texts)),
        as_tuples=True,
        batch_size=batch_size,
        n_process=n_process,
    )
    expected = 0
    for doc, i in docs:
        while expected < i:
            yield texts[expected], None
            expected += 1
        yield texts[i], _read(doc, pipeline)
        expected += 1
    for text in texts[expected:]:
        yield text, None


def _read(doc: Doc, pipeline: str) -> ReportFacts:
    """Facts of a Doc that a pipeline has just made, under that pipeline's name.

    Its embedder stores the name of the pipeline that it was made in, which may have
    another one now, or be another pipeline that the component was sourced from.
    """
    facts = read_facts(doc)
    return replace(facts, embedding=replace(facts.embedding, pipeline=pipeline))


def _interval(
    values: NDArray[np.float64], n_resamples: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Percentile bootstrap of the means: 2.5 % and 97.5 % of each column."""
    n = len(values)
    if not n:
        return np.zeros(values.shape[1]), np.zeros(values.shape[1])
    means = np.empty((n_resamples, values.shape[1]))
    step = max(1, _DRAW // n)
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        drawn = rng.integers(0, n, size=(stop - start, n))
        for column in range(values.shape[1]):
            means[start:stop, column] = values[drawn, column].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return low, high


def _named(rows: Sequence[int], unit: str) -> str:
    named = f"{unit} {', '.join(map(str, rows[:MAX_NAMED]))}"
    more = len(rows) - MAX_NAMED
    return f"{named} and {more} more" if more > 0 else named
