"""The sentences of an answer with their support, and what removal does."""

from __future__ import annotations

import re

import pytest

from rag.agent.citations import CitationStream
from rag.agent.verification import (
    Verified,
    answer_sentences,
    citation_precision,
    cited_papers,
    verify_answer,
)
from rag.papers import Library
from rag.reasoning.protocol import Evidence
from rag.retrieval.context import Context

TEXTS = {
    1: "Adam combines momentum with adaptive rates. It needs little memory for 60 million weights.",
    2: "Dropout removes random units while training. Networks with dropout overfit less.",
    3: "Attention relates all positions of a sequence. It runs in parallel on eight GPUs.",
}


def context(n: int) -> Context:
    text = TEXTS[n]
    page_break = ((0, n), (text.index(". ") + 2, n + 10))
    return Context(f"P{n}", (f"P{n}:0001:x",), ((0, len(text)),), text, "", page_break, 1, 1, (0,))


EVIDENCE = tuple(
    Evidence(n, (f"P{n}:0001:x",), f"P{n}", f"Title {n}", None, "", (n,), text, 0.9, "q")
    for n, text in TEXTS.items()
)
CONTEXTS = tuple(context(n) for n in TEXTS)


def verified(draft: str, *, remove: bool = False) -> Verified:
    stream = CitationStream(EVIDENCE)
    answer = stream.feed(draft) + stream.finish()
    result = verify_answer(
        answer=answer,
        marks=stream.marks,
        evidence=EVIDENCE,
        contexts=CONTEXTS,
        citations=cited_papers(stream, EVIDENCE, CONTEXTS, Library([])),
        library=Library([]),
        rarity=lambda term: 1.0,
        remove=remove,
    )
    for sentence in result.sentences:
        assert result.answer[sentence.start : sentence.end] == sentence.text
        for item in sentence.evidence:
            assert item.n in sentence.cites
    return result


DRAFT = (
    "Dropout removes 99 units [2]. Attention relates all positions of a sequence [3]. "
    "Adam combines momentum with adaptive rates [1]."
)


def test_marking_changes_nothing() -> None:
    result = verified(DRAFT)
    assert [sentence.support for sentence in result.sentences] == ["not", "supported", "supported"]
    assert "99" in result.sentences[0].reason
    assert (
        result.answer
        == "Dropout removes 99 units [1]. Attention relates all positions of a sequence [2]. Adam combines momentum with adaptive rates [3]."
    )
    assert [item.n for item in result.citations] == [1, 2, 3]


def test_removal_renumbers_text_sentences_and_citations() -> None:
    result = verified(DRAFT, remove=True)
    assert (
        result.answer
        == "Attention relates all positions of a sequence [1]. Adam combines momentum with adaptive rates [2]."
    )
    assert [(item.n, item.paper_id) for item in result.citations] == [(1, "P3"), (2, "P1")]
    assert [sentence.cites for sentence in result.sentences] == [(1,), (2,)]
    assert [item.n for sentence in result.sentences for item in sentence.evidence] == [1, 2]


def test_a_paper_whose_other_sentence_holds_stays_cited() -> None:
    result = verified(
        "Dropout removes 99 units [2]. Networks with dropout overfit less [2].", remove=True
    )
    assert result.answer == "Networks with dropout overfit less [1]."
    assert [item.paper_id for item in result.citations] == ["P2"]


def test_removal_keeps_paragraphs() -> None:
    draft = (
        "Adam combines momentum with adaptive rates [1]. It has 7 heads [1].\n\n"
        "Networks with dropout overfit less [2]."
    )
    result = verified(draft, remove=True)
    assert (
        result.answer
        == "Adam combines momentum with adaptive rates [1].\n\nNetworks with dropout overfit less [2]."
    )


def test_nothing_left_is_an_empty_answer_without_citations() -> None:
    result = verified("Dropout removes 99 units [2].", remove=True)
    assert (result.answer, result.sentences, result.citations) == ("", (), ())


def test_the_page_is_that_of_the_supporting_sentence() -> None:
    result = verified("It needs little memory for 60 million weights [1].")
    (item,) = result.sentences[0].evidence
    assert (item.page, item.chunk_id) == (11, "P1:0001:x")
    assert TEXTS[1][item.start : item.end] == "It needs little memory for 60 million weights."


def test_a_missing_citation_that_fits_replaces_the_wrong_one() -> None:
    result = verified(
        "Adam combines momentum with adaptive rates [1]. Networks with dropout overfit less [1]."
    )
    assert (
        result.answer
        == "Adam combines momentum with adaptive rates [1]. Networks with dropout overfit less [2]."
    )
    assert [(item.support, item.cites) for item in result.sentences] == [
        ("supported", (1,)),
        ("supported", (2,)),
    ]
    assert [(item.n, item.paper_id) for item in result.citations] == [(1, "P1"), (2, "P2")]


def test_a_supported_sentence_without_a_citation_gets_one() -> None:
    result = verified("Networks with dropout overfit less. It runs in parallel on eight GPUs [3].")
    assert (
        result.answer
        == "Networks with dropout overfit less [1]. It runs in parallel on eight GPUs [2]."
    )
    assert [item.paper_id for item in result.citations] == ["P2", "P3"]


def test_a_citation_that_is_not_needed_is_dropped() -> None:
    result = verified("Networks with dropout overfit less [1][2].")
    assert result.answer == "Networks with dropout overfit less [1]."
    assert (result.sentences[0].support, result.sentences[0].cites) == ("supported", (1,))
    assert [item.paper_id for item in result.citations] == ["P2"]


def test_both_citations_stay_where_each_holds_a_part() -> None:
    draft = (
        "Adam combines momentum with adaptive rates, and networks with dropout overfit less [1][2]."
    )
    result = verified(draft)
    assert result.sentences[0].cites == (1, 2)
    assert [item.paper_id for item in result.citations] == ["P1", "P2"]


def test_what_no_passage_supports_keeps_its_citation() -> None:
    result = verified("Networks with dropout train for 99 days [1].")
    assert (result.sentences[0].support, result.sentences[0].cites) == ("not", (1,))


def test_citation_precision() -> None:
    assert citation_precision(verified(DRAFT).sentences) == pytest.approx(2 / 3)
    assert citation_precision(verified(DRAFT, remove=True).sentences) == 1.0
    assert citation_precision(verified("**Heading**").sentences) is None


@pytest.mark.parametrize(
    "line",
    ["**Dropout**", "Not in the evidence: the depth.", "The papers say:", "No citation here."],
)
def test_lines_without_a_claim_or_a_citation_have_no_verdict(line: str) -> None:
    assert [sentence.support for sentence in verified(line).sentences] == ["none"]
    assert verified(line, remove=True).answer == line


def test_a_citation_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    answer = "One thing. [1] Two things. [2][3]\n\n[4] Three."
    spans = [answer[start:end] for start, end in answer_sentences(answer)]
    assert spans == ["One thing. [1]", "Two things. [2][3]", "[4] Three."]
    result = verified(
        "Networks with dropout overfit less. [2] It runs in parallel on eight GPUs. [3]"
    )
    assert [(item.cites, item.support) for item in result.sentences] == [
        ((1,), "supported"),
        ((2,), "supported"),
    ]


def test_no_claim_is_judged_with_its_own_marks_as_words() -> None:
    """The numbers of citations are no numbers of the claim."""
    sentence = verified("Networks with dropout overfit less [2].").sentences[0]
    assert re.search(r"\[1\]", sentence.text)
    assert sentence.support == "supported"
