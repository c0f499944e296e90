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
# Where an added citation goes: before the full stop and what closes the sentence.
_CLOSING = re.compile(r"[.!?…]*[\"”’)]*\s*$")
_ANY_MARK = re.compile(r"\s*\[\d+\]")
# Lines that carry no claim: headings of a group, and what the answer says about itself.
_NO_CLAIM = re.compile(r"^(?:\*\*.+\*\*:?|#+ .+|Not in the evidence:.*|.{0,80}:)$")


@dataclass(frozen=True)
class Verified:
    """The checked answer; text and citations differ from the draft only when a sentence was
    removed or a citation dropped or added."""

    answer: str
    sentences: tuple[SentenceRecord, ...]
    citations: tuple[CitationRecord, ...]


@dataclass(frozen=True)
class _Checked:
    """A sentence of the draft with its verdict; ``passages`` are the evidence numbers that it
    cites after checking, in order."""

    start: int
    end: int
    passages: tuple[int, ...]
    judgement: Judgement


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
    library: Library,
    rarity: Rarity,
    remove: bool,
) -> Verified:
    """Judge each sentence against the passages it cites, and put its citations right.

    A citation that a supported sentence does not need is dropped, and one that supports a sentence
    is added where those it has do not. With ``remove``, sentences that still fail are cut.
    """
    by_number = {item.n: (item, context) for item, context in _pairs(evidence, contexts)}
    draft = _Draft(answer, marks, by_number, rarity)
    checked = [draft.check(span) for span in answer_sentences(answer)]
    kept = [item for item in checked if not (remove and item.judgement.support == "not")]
    if len(kept) == len(checked) and all(item.passages == draft.cited(item) for item in kept):
        numbers = {draft.paper(mark.passages[0]): mark.number for mark in marks}
        records = [
            draft.record(item, numbers, answer[item.start : item.end], item.start) for item in kept
        ]
        return Verified(answer, tuple(records), tuple(citations))
    return _rewritten(draft, checked, kept, library)


def citation_precision(sentences: Sequence[SentenceRecord]) -> float | None:
    """Share of the citations that stand in a supported sentence; None without any citation.

    Sentences without a verdict do not count. A citation that a supported sentence does not need
    has been dropped by then: the idea of citation precision in ALCE (Gao et al. 2023).
    """
    judged = [sentence for sentence in sentences if sentence.support != "none"]
    total = sum(len(sentence.cites) for sentence in judged)
    good = sum(len(sentence.cites) for sentence in judged if sentence.support == "supported")
    return good / total if total else None


def _pairs(
    evidence: Sequence[Evidence], contexts: Sequence[Context]
) -> list[tuple[Evidence, Context]]:
    by_chunk = {context.chunk_ids[0]: context for context in contexts}
    return [(item, by_chunk[item.chunk_ids[0]]) for item in evidence if item.chunk_ids]


LEAST_CLAIM_WORDS = 4
_LONG_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True)
class _Draft:
    """The writer's answer with its marks and the passages that it may cite, by number."""

    answer: str
    marks: Sequence[Mark]
    passages: dict[int, tuple[Evidence, Context]]
    rarity: Rarity

    def paper(self, n: int) -> str:
        """The paper of a passage."""
        return self.passages[n][0].paper_id

    def inside(self, item: _Checked | tuple[int, int]) -> list[Mark]:
        """The marks of a sentence."""
        start, end = item if isinstance(item, tuple) else (item.start, item.end)
        return [mark for mark in self.marks if start <= mark.start < end]

    def cited(self, item: _Checked | tuple[int, int]) -> tuple[int, ...]:
        """The passages that the writer cited in a sentence."""
        numbers = (n for mark in self.inside(item) for n in mark.passages if n in self.passages)
        return tuple(dict.fromkeys(numbers))

    def check(self, span: tuple[int, int]) -> _Checked:
        """The verdict about a sentence with the citations that it should have."""
        claim = " ".join(_ANY_MARK.sub("", self.answer[span[0] : span[1]]).split())
        cited = self.cited(span)
        if _NO_CLAIM.match(claim):
            return _Checked(*span, cited, Judgement("none", "", ()))
        verdict = self.judge(claim, cited)
        # A heading or a scrap shares its few words with many a passage: it claims nothing.
        if verdict.support != "supported" and len(_LONG_WORD.findall(claim)) >= LEAST_CLAIM_WORDS:
            added = self.fitting(claim, cited)
            if added is not None:
                cited, verdict = (*cited, added), self.judge(claim, (added,))
        needed = self.needed(claim, cited) if verdict.support == "supported" else cited
        return _Checked(*span, needed, self.judge(claim, needed))

    def judge(self, claim: str, numbers: Sequence[int]) -> Judgement:
        """Check a claim against some passages."""
        return judge_claim(claim, [self.passages[n][0].text for n in numbers], self.rarity)

    def fitting(self, claim: str, cited: Sequence[int]) -> int | None:
        """The passage that supports a claim best on its own, beside those that it cites."""
        best: tuple[float, int] | None = None
        for n in self.passages:
            verdict = self.judge(claim, (n,)) if n not in cited else None
            if verdict and verdict.support == "supported":
                share = max(window.share for window in verdict.windows)
                if best is None or share > best[0]:
                    best = (share, n)
        return best[1] if best else None

    def needed(self, claim: str, cited: tuple[int, ...]) -> tuple[int, ...]:
        """What is left when every paper goes whose passages do not support the claim themselves,
        as long as the others do."""
        for paper in dict.fromkeys(map(self.paper, cited)):
            own = tuple(n for n in cited if self.paper(n) == paper)
            rest = tuple(n for n in cited if n not in own)
            if (
                rest
                and self.judge(claim, own).support == "not"
                and self.judge(claim, rest).support == "supported"
            ):
                cited = rest
        return cited

    def record(
        self, item: _Checked, numbers: dict[str, int], text: str, start: int
    ) -> SentenceRecord:
        """A checked sentence as it leaves the program."""
        found = []
        for window in item.judgement.windows:
            passage, context = self.passages[item.passages[window.passage]]
            found.append(
                EvidenceRecord(
                    n=numbers[passage.paper_id],
                    chunk_id=passage.chunk_ids[0],
                    page=context.page_at(window.start),
                    start=window.start,
                    end=window.end,
                )
            )
        papers = dict.fromkeys(map(self.paper, item.passages))
        return SentenceRecord(
            text=text,
            start=start,
            end=start + len(text),
            cites=tuple(numbers[paper] for paper in papers),
            evidence=tuple(found),
            support=item.judgement.support,
            reason=item.judgement.reason,
        )

    def body(self, item: _Checked, numbers: dict[str, int]) -> str:
        """The text of a sentence with the marks that it should have."""
        papers = list(dict.fromkeys(map(self.paper, item.passages)))
        text, at = "", item.start
        for mark in self.inside(item):
            text += self.answer[at : mark.start]
            paper = self.paper(mark.passages[0])
            if paper in papers:
                text += f"[{numbers[paper]}]"
            else:
                text = text.rstrip(" ")
            at = mark.end
        text += self.answer[at : item.end]
        marked = {self.paper(mark.passages[0]) for mark in self.inside(item)}
        added = "".join(f" [{numbers[paper]}]" for paper in papers if paper not in marked)
        stop = _CLOSING.search(text)
        place = stop.start() if stop else len(text)
        return (text[:place] + added + text[place:]).strip()


def _rewritten(
    draft: _Draft, checked: Sequence[_Checked], kept: Sequence[_Checked], library: Library
) -> Verified:
    """The answer without cut sentences, with its papers numbered anew by first use."""
    cited: dict[str, list[Evidence]] = {}
    for item in kept:
        for n in item.passages:
            passage = draft.passages[n][0]
            held = cited.setdefault(passage.paper_id, [])
            if passage not in held:
                held.append(passage)
    numbers = {paper: number for number, paper in enumerate(cited, start=1)}
    text = ""
    records: list[SentenceRecord] = []
    previous_end = 0
    for item in checked:
        gap = draft.answer[previous_end : item.start]
        previous_end = item.end
        if item not in kept:
            continue
        gap = ("\n\n" if "\n\n" in gap else gap) if text else ""
        body = draft.body(item, numbers)
        records.append(draft.record(item, numbers, body, len(text) + len(gap)))
        text += gap + body
    citations = tuple(
        _citation(numbers[paper], passages, library) for paper, passages in cited.items()
    )
    return Verified(text, tuple(records), citations)


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
