"""Verification: the sentences of an answer, each with its support, and the cited papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.agent.citations import CitationStream, Mark
from rag.agent.support import Judgement, Rarity, judge_claim
from rag.indexing.sentences import sentence_spans
from rag.papers import Library
from rag.reasoning.protocol import Evidence
from rag.results import CitationRecord, EvidenceRecord, SentenceRecord
from rag.retrieval.context import Context

_TRAILING_MARKS = re.compile(r"(?:[^\S\n]*\[\d+\])+[.!?]?")
_ANY_MARK = re.compile(r"\s*\[\d+\]")
# Lines that carry no claim: headings of a group, and what the answer says about itself.
_NO_CLAIM = re.compile(r"^(?:\*\*.+\*\*:?|#+ .+|Not in the evidence:.*|.{0,80}:)$")


@dataclass(frozen=True)
class Verified:
    """The checked answer; text and citations differ from the draft only when something was
    removed."""

    answer: str
    sentences: tuple[SentenceRecord, ...]
    citations: tuple[CitationRecord, ...]


def answer_sentences(answer: str) -> list[tuple[int, int]]:
    """Offsets of the sentences of an answer; citations after the full stop belong before it."""
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(answer):
        lead = _TRAILING_MARKS.match(answer, start)
        if lead and spans and "\n" not in answer[spans[-1][1] : start]:
            spans[-1] = (spans[-1][0], lead.end())
            start = lead.end()
            while start < end and answer[start].isspace():
                start += 1
        if start < end:
            spans.append((start, end))
    return spans


def verify_answer(
    *,
    answer: str,
    marks: Sequence[Mark],
    evidence: Sequence[Evidence],
    contexts: Sequence[Context],
    citations: Sequence[CitationRecord],
    rarity: Rarity,
    remove: bool,
) -> Verified:
    """Judge each sentence against the passages it cites; with ``remove``, drop what fails."""
    by_number = {item.n: (item, context) for item, context in _pairs(evidence, contexts)}
    records = [_judge(answer, span, marks, by_number, rarity) for span in answer_sentences(answer)]
    if remove and any(record.support == "not" for record in records):
        return _without_unsupported(answer, records, citations)
    return Verified(answer, tuple(records), tuple(citations))


def _pairs(
    evidence: Sequence[Evidence], contexts: Sequence[Context]
) -> list[tuple[Evidence, Context]]:
    by_chunk = {context.chunk_ids[0]: context for context in contexts}
    return [(item, by_chunk[item.chunk_ids[0]]) for item in evidence if item.chunk_ids]


def _judge(
    answer: str,
    span: tuple[int, int],
    marks: Sequence[Mark],
    by_number: dict[int, tuple[Evidence, Context]],
    rarity: Rarity,
) -> SentenceRecord:
    start, end = span
    inside = [mark for mark in marks if start <= mark.start < end]
    passages = list(dict.fromkeys(n for mark in inside for n in mark.passages if n in by_number))
    claim = " ".join(_ANY_MARK.sub("", answer[start:end]).split())
    numbers = {n: mark.number for mark in inside for n in mark.passages}
    if _NO_CLAIM.match(claim):
        judgement = Judgement("none", "", ())
    else:
        judgement = judge_claim(claim, [by_number[n][0].text for n in passages], rarity)
    found = []
    for window in judgement.windows:
        item, context = by_number[passages[window.passage]]
        found.append(
            EvidenceRecord(
                n=numbers[item.n],
                chunk_id=item.chunk_ids[0],
                page=context.page_at(window.start),
                start=window.start,
                end=window.end,
            )
        )
    return SentenceRecord(
        text=answer[start:end],
        start=start,
        end=end,
        cites=tuple(dict.fromkeys(mark.number for mark in inside)),
        evidence=tuple(found),
        support=judgement.support,
        reason=judgement.reason,
    )


def _without_unsupported(
    answer: str, records: Sequence[SentenceRecord], citations: Sequence[CitationRecord]
) -> Verified:
    """Cut unsupported sentences and renumber what is left by first use."""
    kept = [record for record in records if record.support != "not"]
    order = list(dict.fromkeys(number for record in kept for number in record.cites))
    renumber = {old: new for new, old in enumerate(order, start=1)}
    text = ""
    moved: list[SentenceRecord] = []
    previous_end = 0
    for record in records:
        gap = answer[previous_end : record.start]
        previous_end = record.end
        if record.support == "not":
            continue
        gap = ("\n\n" if "\n\n" in gap else gap) if text else ""
        body = re.sub(
            r"\[(\d+)\]", lambda match: f"[{renumber.get(int(match[1]), match[1])}]", record.text
        )
        start = len(text) + len(gap)
        text += gap + body
        moved.append(
            record.model_copy(
                update={
                    "text": body,
                    "start": start,
                    "end": len(text),
                    "cites": tuple(renumber[number] for number in record.cites),
                    "evidence": tuple(
                        item.model_copy(update={"n": renumber.get(item.n, item.n)})
                        for item in record.evidence
                    ),
                }
            )
        )
    left = [
        citation.model_copy(update={"n": renumber[citation.n]})
        for citation in citations
        if citation.n in renumber
    ]
    return Verified(text, tuple(moved), tuple(sorted(left, key=lambda citation: citation.n)))


def cited_papers(
    stream: CitationStream,
    evidence: Sequence[Evidence],
    contexts: Sequence[Context],
    library: Library,
) -> list[CitationRecord]:
    """One record a cited paper in order of first use, its cited passages grouped under it."""
    by_number = {item.n: item for item in evidence}
    cited: dict[str, list[Evidence]] = {paper_id: [] for paper_id in stream.numbers}
    for mark in stream.marks:
        for n in mark.passages:
            if by_number[n] not in cited[by_number[n].paper_id]:
                cited[by_number[n].paper_id].append(by_number[n])
    return [
        _citation(number, cited[paper_id], library)
        for paper_id, number in sorted(stream.numbers.items(), key=lambda item: item[1])
    ]


def _citation(number: int, passages: Sequence[Evidence], library: Library) -> CitationRecord:
    first = passages[0]
    paper = library.get(first.paper_id)
    pages = tuple(sorted({page for item in passages for page in item.pages}))
    url = ""
    if paper is not None:
        url = paper.pdf_url(first.pages[0]) if first.pages else paper.abs_url
    return CitationRecord(
        n=number,
        paper_id=first.paper_id,
        title=first.title,
        pages=pages,
        chunk_ids=tuple(dict.fromkeys(key for item in passages for key in item.chunk_ids)),
        url=url,
        authors=paper.short_authors if paper else "",
        year=first.year,
        chunk_type="digest" if paper is not None and paper.holding == "digest" else "passage",
    )
