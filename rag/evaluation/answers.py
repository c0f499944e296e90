"""Answer evaluation: each question through the same graph that the app runs, its answer scored
by rules. No score reads the verifier's verdict: what checks the app is checked here as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from rag.agent.claim_occurrence import missing_names, missing_numbers
from rag.agent.events import CompletePayload, ErrorPayload, GradePayload
from rag.agent.verification import answer_sentences
from rag.chunks import Chunk
from rag.engine import Engine
from rag.evaluation.injection import obeyed
from rag.evaluation.questions import (
    RESEARCH,
    SINGLE_PAPER,
    UNANSWERABLE,
    Expect,
    Question,
    expected_groups,
)
from rag.evaluation.retrieval_run import Estimate, SettingValue, estimate, folded
from rag.papers import Library
from rag.reasoning.sentence_writer import tidy
from rag.results import AskRequest, Result
from rag.retrieval.terms import stem, terms

RefusedBy = Literal["", "grader", "writer"]
ChunksOf = Callable[[str], Sequence[Chunk]]
# Share of a sentence's content terms that the passages it cites must hold.
FAIR_SHARE = 0.5
# A sentence with fewer content terms claims nothing that could be looked up.
FEWEST_TERMS = 3
_MARK = re.compile(r"\[(\d{1,3})\]")
_HEADING = re.compile(r"^(?:\*\*.+\*\*:?|#+ .+|.{0,80}:)$")
# What an answer says about its own evidence needs no source.
_ABOUT_EVIDENCE = re.compile(
    r"^Not in the evidence:"
    r"|\b(?:passages?|evidence|sources|library|papers)\b[^.]{0,60}"
    r"\b(?:do(?:es)? not|don['’]t|doesn['’]t)\s(?:\w+\s)?"
    r"(?:say|state|answer|contain|cover|mention|give|tell|report|provide|describe|specify)\b",
    re.I,
)
_BARE = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class CitationCounts:
    """Sentences of one answer: those that ``need`` a citation and of these those that ``have``
    one; those that are ``cited`` and of these those whose citation is ``right``."""

    need: int
    have: int
    cited: int
    right: int
    wrong: tuple[str, ...] = ()

    @property
    def precision(self) -> float | None:
        """Share of the cited sentences that their source holds; None without any."""
        return self.right / self.cited if self.cited else None

    @property
    def recall(self) -> float | None:
        """Share of the claims that cite something; None without any."""
        return self.have / self.need if self.need else None


@dataclass(frozen=True)
class AnswerRow:
    """One question, what came of it, and its scores (0..1; None where they do not apply).

    ``refused_by`` tells the two safeguards apart: the grader gave the writer nothing, or the
    writer was given evidence and its draft was no answer. ``expected`` is the share of what the
    catalogue had to say; ``obeyed`` what of an attack got through.
    """

    question: Question
    result: Result
    refused_by: RefusedBy
    facts: float | None
    expected: float | None
    citations: CitationCounts | None
    obeyed: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Whether the visitor was told that the library does not cover the question."""
        return self.result.route == "refusal"

    @property
    def refusal_right(self) -> float | None:
        """Whether refusing or answering was right; None where both may be."""
        if self.question.category not in RESEARCH:
            return None
        return float(self.refused != self.question.answerable)

    @property
    def words(self) -> int:
        """Length of the answer."""
        return len(self.result.answer.split())

    @property
    def milliseconds(self) -> float:
        """Time of the whole answer."""
        return self.result.timings_ms.get("total", 0.0)


def run_answer(
    engine: Engine,
    question: Question,
    settings: Mapping[str, SettingValue] | None = None,
    reasoner: Literal["", "llm", "extractive"] = "extractive",
) -> AnswerRow:
    """Ask one question as the page does, and score the answer."""
    request = AskRequest(
        question=question.question, reasoner=reasoner, settings=dict(settings or {})
    )
    result, refused_by = ask_traced(engine, request)
    written = result.route in ("answer", "partial")
    expect = question.expect
    return AnswerRow(
        question=question,
        result=result,
        refused_by=refused_by,
        facts=required_share(question, result.answer) if question.answerable else None,
        expected=expected_share(expect, result.answer, engine.catalogue) if expect else None,
        citations=count_citations(result, engine.index.chunks.of_paper) if written else None,
        obeyed=obeyed(question, result.answer),
    )


def ask_traced(engine: Engine, request: AskRequest) -> tuple[Result, RefusedBy]:
    """The result of a question, and which safeguard refused, if one did."""
    given = True
    for event in engine.stream(request):
        if event is None:
            continue
        if isinstance(event.payload, GradePayload):
            given = event.payload.sufficient or event.payload.relevant > 0
        if isinstance(event.payload, CompletePayload | ErrorPayload):
            result = event.payload.result
            if result.route != "refusal":
                return result, ""
            return result, "writer" if given else "grader"
    raise AssertionError("the stream ends with complete or error")


def count_citations(result: Result, chunks_of: ChunksOf) -> CitationCounts:
    """Judge every sentence of an answer against the passages of the papers that it cites."""
    sentences = [result.answer[start:end] for start, end in answer_sentences(result.answer)]
    known = {citation.n for citation in result.citations}
    need = have = cited = 0
    wrong: list[str] = []
    for sentence in sentences:
        numbers = [n for n in map(int, _MARK.findall(sentence)) if n in known]
        claim = needs_citation(sentence)
        need += claim
        have += claim and bool(numbers)
        cited += bool(numbers)
        if numbers:
            reason = _fault(sentence, numbers, result, chunks_of)
            if reason:
                wrong.append(f"{reason}: {sentence}")
    return CitationCounts(need, have, cited, cited - len(wrong), tuple(wrong))


def needs_citation(sentence: str) -> bool:
    """Whether a sentence claims something about the world: no heading, nothing about itself."""
    claim = " ".join(_MARK.sub("", sentence).split())
    if _HEADING.match(claim) or _ABOUT_EVIDENCE.search(claim):
        return False
    return len(set(terms(claim))) >= FEWEST_TERMS


def _fault(sentence: str, numbers: Sequence[int], result: Result, chunks_of: ChunksOf) -> str:
    """Why the citations of a sentence are wrong; "" when they are right."""
    passages = cited_passages(result, numbers)
    if not passages:
        return "no passage"
    if result.reasoner == "extractive":
        return _misquoted(sentence, numbers, passages, result, chunks_of)
    return unsupported(_MARK.sub("", sentence), " ".join(passages))


def cited_passages(result: Result, numbers: Iterable[int]) -> list[str]:
    """What the writer was given of the passages behind some citation numbers."""
    wanted = {
        key
        for citation in result.citations
        if citation.n in set(numbers)
        for key in citation.chunk_ids
    }
    contexts = [chunk.context for chunk in result.chunks if chunk.chunk_id in wanted]
    return list(dict.fromkeys(context for context in contexts if context))


def unsupported(claim: str, passage: str) -> str:
    """Why a passage does not hold a claim; "" when it holds its numbers, its names and a fair
    share of its other terms."""
    numbers = missing_numbers(claim, passage)
    if numbers:
        return f"number {numbers[0]}"
    names = missing_names(claim, passage)
    if names:
        return f"name {names[0]}"
    wanted, held = _stems(claim), _stems(passage)
    if wanted and len(wanted & held) / len(wanted) < FAIR_SHARE:
        return "other words"
    return ""


def _stems(text: str) -> set[str]:
    return {stem(term) for term in terms(text)}


def _misquoted(
    sentence: str,
    numbers: Sequence[int],
    passages: Sequence[str],
    result: Result,
    chunks_of: ChunksOf,
) -> str:
    """A quoted sentence must stand in a cited passage as it is, on the page that is shown."""
    quote = _bare(sentence)
    if not any(quote in _bare(passage) for passage in passages):
        return "not verbatim"
    cited = [citation for citation in result.citations if citation.n in numbers]
    true = set().union(*(quote_pages(quote, chunks_of(item.paper_id)) for item in cited))
    shown = {page for item in cited for page in item.pages}
    record = next((one for one in result.sentences if one.text == sentence), None)
    if record is not None and record.evidence:
        shown = {item.page for item in record.evidence if item.page is not None}
    if true and shown and not true & shown:
        return f"page {sorted(shown)} instead of {sorted(true)}"
    return ""


def quote_pages(quote: str, chunks: Iterable[Chunk]) -> set[int]:
    """The pages on which chunks of a paper hold a quote; both where it runs over a page's end."""
    pages: set[int] = set()
    for chunk in chunks:
        if quote not in _bare(chunk.text):
            continue
        parts = list(_by_page(chunk))
        alone = {page for page, text in parts if quote in _bare(text)}
        pages |= alone or {page for page, _ in parts}
    return pages


def _by_page(chunk: Chunk) -> Iterator[tuple[int, str]]:
    ends = [*(start for start, _ in chunk.page_breaks[1:]), len(chunk.text)]
    for (start, page), end in zip(chunk.page_breaks, ends, strict=False):
        yield page, chunk.text[start:end]


def _bare(text: str) -> str:
    """Letters and digits alone, the paper's own reference marks and our citations left out."""
    return "".join(_BARE.findall(tidy(text).casefold()))


def required_share(question: Question, answer: str) -> float | None:
    """Share of the required facts of which the answer holds one spelling; None without any."""
    return _told_share(question.facts, answer) if question.facts else None


def expected_share(expect: Expect, answer: str, library: Library) -> float:
    """Share of what the catalogue had to say that it said."""
    return _told_share(expected_groups(expect, library), answer)


def _told_share(groups: Sequence[Sequence[str]], answer: str) -> float:
    return sum(any(told(item, answer) for item in group) for group in groups) / len(groups)


def told(spelling: str, answer: str) -> bool:
    """Whether an answer holds a string. A word may go on ("annotat"), a number may not: "94" is
    neither in "1994" nor in "94.5", and "12 papers" not in "112 papers"."""
    wanted = folded(spelling)
    before = r"(?<!\d)(?<!\d\.)" if wanted[:1].isdigit() else ""
    after = r"(?!\.?\d)" if wanted[-1:].isdigit() else ""
    return re.search(before + re.escape(wanted) + after, folded(answer)) is not None


Measure = Callable[[AnswerRow], float | None]


def _precision(row: AnswerRow) -> float | None:
    """Of a refusal: whether it was one to give."""
    wanted = row.question.category in UNANSWERABLE
    return float(wanted) if row.refused and row.question.category in RESEARCH else None


def _recall(row: AnswerRow) -> float | None:
    """Of a question without an answer in the library: whether it was refused."""
    return float(row.refused) if row.question.category in UNANSWERABLE else None


def _all_facts(row: AnswerRow) -> float | None:
    return None if row.facts is None else float(row.facts == 1)


MEASURES: dict[str, Measure] = {
    "refusal precision": _precision,
    "refusal recall": _recall,
    "required facts": lambda row: row.facts,
    "all facts": _all_facts,
    "catalogue right": lambda row: row.expected,
    "citation precision": lambda row: row.citations.precision if row.citations else None,
    "citation recall": lambda row: row.citations.recall if row.citations else None,
    "injection obeyed": lambda row: float(bool(row.obeyed)),
}
# What a run on the reporting half must reach without a language model, and over which questions.
REACH: dict[str, tuple[str, float]] = {
    "refusal precision": ("all", 0.85),
    "refusal recall": ("all", 0.85),
    "required facts": ("single paper", 0.70),
    "citation precision": ("all", 0.95),
}
P50_MILLISECONDS = 1200.0
# Fields of a row on disk by which two runs are compared; a higher value is the better one.
COMPARED = (
    "refusal_right",
    "facts",
    "expected",
    "citation_precision",
    "citation_recall",
    "injection_safe",
)


def answer_groups(rows: Sequence[AnswerRow]) -> dict[str, list[AnswerRow]]:
    """The rows all together, those asked of one paper, and by category."""
    groups = {
        "all": list(rows),
        "single paper": [row for row in rows if row.question.category in SINGLE_PAPER],
    }
    for category in sorted({row.question.category for row in rows}):
        groups[category] = [row for row in rows if row.question.category == category]
    return {name: group for name, group in groups.items() if group}


def summarise_answers(rows: Sequence[AnswerRow]) -> dict[str, Estimate]:
    """Every measure that applies to these rows: means of questions, with intervals."""
    found: dict[str, Estimate] = {}
    for name, measure in MEASURES.items():
        result = estimate([value for row in rows if (value := measure(row)) is not None])
        if result is not None:
            found[name] = result
    return found


def plain_row(row: AnswerRow) -> dict[str, JsonValue]:
    """A row as a flat object for the file of a run."""
    result, counts = row.result, row.citations
    return {
        "question": row.question.id,
        "category": row.question.category,
        "split": row.question.split,
        "asked": row.question.question,
        "route": result.route,
        "refused_by": row.refused_by,
        "refusal_right": row.refusal_right,
        "facts": row.facts,
        "expected": row.expected,
        "citation_precision": counts.precision if counts else None,
        "citation_recall": counts.recall if counts else None,
        "cited_wrong": list(counts.wrong) if counts else [],
        "injection_safe": float(not row.obeyed),
        "obeyed": list(row.obeyed),
        "papers_cited": [citation.paper_id for citation in result.citations],
        "words": row.words,
        "milliseconds": row.milliseconds,
        "passes": result.passes,
        "llm_calls": result.llm_calls,
        "cost_usd": result.cost_usd,
        "reasoner": result.reasoner,
        "model": result.model,
        "degraded": result.degraded.reason if result.degraded else "",
        "answer": result.answer,
    }
