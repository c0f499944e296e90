"""Writing without a model: the passages' own sentences, chosen, ordered and cited."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.errors import ModelUnavailableError
from rag.indexing.sentences import sentence_spans
from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan
from rag.retrieval.lexicon import Lexicon
from rag.retrieval.name_table import text_for_query
from rag.retrieval.relevance import log_odds
from rag.retrieval.reranker import Reranker
from rag.retrieval.terms import stem, terms

logger = logging.getLogger(__name__)
MOST_SCORED = 60
SHORTEST_WORDS = 6
LONGEST_WORDS = 70
# A sentence whose log-odds are this far below the best adds noise more often than an answer.
FARTHEST = 3.0
# How much a sentence's own reranker score counts beside the relevance of its passage; the
# reranker is nearly blind to paraphrase, the relevance is not.
SENTENCE_WEIGHT = 0.4
TOO_ALIKE = 0.6
# A sentence that leans on the one before it does not open a paragraph well.
_DANGLING = re.compile(
    r"(?:It|Its|This|These|Those|They|Their|Such|Both|He|She|The (?:latter|former|same)|However"
    r"|But|Moreover|Furthermore|Thus|Hence|Therefore|In addition|Also|Similarly|In contrast"
    r"|Instead|Otherwise|For (?:example|instance)|That is)\b"
)
_REFERENCE_MARK = re.compile(
    r"\s*\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]"  # [12], [3, 5-7]
    r"|\s*\((?:see )?(?:Figure|Fig\.|Table|Section|Sec\.|Appendix)[^)]{0,30}\)"
)
# "1) ", "(2) ", "• " before a sentence belong to the list that it stood in.
_LIST_MARK = re.compile(r"^(?:\(?\d{1,2}[.)]|[•▪–-])\s+(?=[A-Z])")
_LETTER = re.compile(r"[A-Za-z]")
_ENDS = re.compile(r"[.!?][\"”’)\]]*$")
_REFERENCE_ENTRY = re.compile(
    r"\barXiv preprint\b|\bIn Proceedings\b|\bet al\.,? \d{4}[a-z]?\.$|\bpp?\. ?\d+[–-]\d+|\bdoi\b",
    re.I,
)
_CAPTION = re.compile(r"^(?:Figure|Fig\.|Table|Algorithm|Listing)\s*\d+[.:]")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a passage: ``text`` as shown, without the paper's own reference marks."""

    evidence: Evidence
    place: int
    text: str
    stems: frozenset[str]
    score: float = 0.0


def write_from_sentences(
    plan: QueryPlan,
    check: InformationCheck,
    evidence: Sequence[Evidence],
    lexicon: Lexicon,
    reranker: Reranker | None,
    most: int,
) -> Iterator[str]:
    """The answer in pieces: for one subject a paragraph a paper, best first, in reading order;
    for a comparison one group a part of the question; then what is missing."""
    groups = _groups(plan, evidence, lexicon, reranker, most)
    for position, group in enumerate(groups):
        if position:
            yield "\n\n"
        yield from _paragraph(group)
    if check.missing_elements and not check.sufficient:
        yield f"\n\nNot in the evidence: {', '.join(check.missing_elements)}."


def _groups(
    plan: QueryPlan,
    evidence: Sequence[Evidence],
    lexicon: Lexicon,
    reranker: Reranker | None,
    most: int,
) -> list[list[Sentence]]:
    queries = plan.sub_queries if plan.is_compound else (plan.question,)
    share = max(2, most // len(queries)) if len(queries) > 1 else most
    taken: list[Sentence] = []
    groups: list[list[Sentence]] = []
    for query in queries:
        scored = score_sentences(query, evidence, lexicon, reranker)
        picked = pick_sentences(scored, share, taken)
        taken += picked
        by_paper: dict[str, list[Sentence]] = {}
        for sentence in picked:
            by_paper.setdefault(sentence.evidence.paper_id, []).append(sentence)
        groups += [_reading_order(sentences) for sentences in by_paper.values()]
    return groups


def score_sentences(
    query: str, evidence: Sequence[Evidence], lexicon: Lexicon, reranker: Reranker | None
) -> list[Sentence]:
    """The usable sentences of all passages with their scores for the query, best first.

    The reranker reads each sentence after its paper's title, which says what "it" is; only the
    sentences that share most with the query, or stand in the best passages, are read at all.
    """
    wanted = lexicon.content_terms(query)
    found = [sentence for item in evidence for sentence in usable_sentences(item)]
    found.sort(key=lambda sentence: (-lexicon.coverage(wanted, sentence.text), sentence.evidence.n))
    found = found[:MOST_SCORED]
    read = _read(query, found, reranker)
    if read is None:
        scores = [lexicon.coverage(wanted, sentence.text) for sentence in found]
    else:
        scores = [
            SENTENCE_WEIGHT * log_odds(score) + log_odds(sentence.evidence.score or 0.0)
            for sentence, score in zip(found, read, strict=True)
        ]
    scored = [
        Sentence(item.evidence, item.place, item.text, item.stems, score)
        for item, score in zip(found, scores, strict=True)
    ]
    return sorted(
        scored, key=lambda sentence: (-sentence.score, sentence.evidence.n, sentence.place)
    )


def _read(
    query: str, sentences: Sequence[Sentence], reranker: Reranker | None
) -> list[float] | None:
    """The reranker's score of each sentence; None without a reranker or when it fails now."""
    if reranker is None:
        return None
    pairs = [
        (query, text_for_query(query, sentence.evidence.names, _titled(sentence)))
        for sentence in sentences
    ]
    try:
        return reranker.score(pairs)
    except ModelUnavailableError as error:
        logger.warning("sentences are chosen without the reranker: %s", error)
        return None


def _titled(sentence: Sentence) -> str:
    return f"{sentence.evidence.title}. {sentence.text}"


def usable_sentences(item: Evidence) -> list[Sentence]:
    """Whole prose sentences: no headings, captions, table debris, equations or references."""
    sentences: list[Sentence] = []
    for place, (start, end) in enumerate(sentence_spans(item.text)):
        text = tidy(item.text[start:end])
        if is_prose(text):
            stems = frozenset(stem(term) for term in terms(text))
            sentences.append(Sentence(item, place, text, stems))
    return sentences


def tidy(text: str) -> str:
    """The sentence on one line, without the paper's own reference marks and pointers.

    "[12]" would read as one of our citations.
    """
    plain = _LIST_MARK.sub("", _REFERENCE_MARK.sub("", " ".join(text.split())))
    return plain.replace("[", "(").replace("]", ")").strip()


def is_prose(text: str) -> bool:
    """Whether a sentence can stand in an answer."""
    words = text.split()
    letters = len(_LETTER.findall(text))
    single = sum(len(word) == 1 and word not in {"a", "A", "I"} for word in words)
    return (
        SHORTEST_WORDS <= len(words) <= LONGEST_WORDS
        and letters >= 0.65 * len(text.replace(" ", ""))
        and single <= 0.15 * len(words)
        and bool(_ENDS.search(text))
        and (text[0].isupper() or text[0].isdigit() or text[0] in "“\"'")
        and not _REFERENCE_ENTRY.search(text)
        and not _CAPTION.match(text)
    )


def pick_sentences(
    scored: Sequence[Sentence], most: int, taken: Sequence[Sentence]
) -> list[Sentence]:
    """The best sentences that differ from each other and from those already taken."""
    picked: list[Sentence] = []
    best = scored[0].score if scored else 0.0
    for sentence in scored:
        if len(picked) >= most or sentence.score < best - FARTHEST:
            break
        if not any(alike(sentence, other) for other in (*taken, *picked)):
            picked.append(sentence)
    return picked


def alike(first: Sentence, second: Sentence) -> bool:
    """Whether two sentences say nearly the same (Jaccard of their stems)."""
    union = first.stems | second.stems
    return bool(union) and len(first.stems & second.stems) / len(union) >= TOO_ALIKE


def _reading_order(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The best sentence that stands alone first, so that the answer leads; the rest as they stand
    in the paper."""
    lead = next((one for one in sentences if not _DANGLING.match(one.text)), sentences[0])
    rest = [one for one in sentences if one is not lead]
    return [lead, *sorted(rest, key=lambda sentence: (sentence.evidence.n, sentence.place))]


def _paragraph(sentences: Sequence[Sentence]) -> Iterator[str]:
    for position, sentence in enumerate(sentences):
        ending = sentence.text[-1] if sentence.text[-1] in ".!?" else ""
        body = sentence.text[: -len(ending)] if ending else sentence.text
        blank = " " if position else ""
        yield f"{blank}{body} [{sentence.evidence.n}]{ending}"
