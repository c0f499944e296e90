"""What must hold for every one of the real papers, and hand-read ends of many.

No sentence of a paper is written here: at most seven words of one.
"""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from paper_report import Report, folded, report_on

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "papers"

pytestmark = [
    pytest.mark.papers,
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of PDFs beside the checkout"),
]

# Its figures are drawn letter by letter: other readers see pieces where the chunks hold words.
LETTERED = {"2309.04269"}
# Words of the first and last sentence of the body, then of the end of the appendix, if any.
ENDS = {
    "1301.3781": ("treat words as atomic units", "published in an upcoming NIPS 2013"),
    "1302.4389": ("provides an inexpensive and simple means", "inexpensive approximations to model averaging"),
    "1409.1556": ("have recently enjoyed a great success", "importance of depth in visual representations", "results on PASCAL VOC action classification benchmark"),
    "1412.6980": ("is of core practical importance", "non-convex optimization problems in the field machine", "we have the following regret bound"),
    "1507.06527": ("capable of learning human-level control policies", "better performance by recurrent networks", "Bold font indicates statistical significance"),
    "1511.05493": ("Many practical applications build on graph-structured", "how to reason with and extend", "Recursively predict all nested formulas"),
    "1606.03490": ("models penetrate critical areas like medicine", "have a voice at machine learning conferences"),
    "1706.02216": ("Low-dimensional vector embeddings of nodes", "functions as part of the GraphSAGE", "to an arbitrary precision for this class"),
    "1706.03762": ("long short-term memory [13] and gated", "used to train and evaluate our models", "clearly learned to perform different tasks"),
    "1706.07269": ("artificial intelligence", "Already, projects of this type are underway"),
    "1708.02072": ("While the basic architecture and training", "to use larger datasets in future work", "other hyperparameters for each model/dataset combination"),
    "1802.05365": ("Pre-trained word representations", "using all layers improves overall task performance", "ELMo to both the input and output"),
    "1810.04805": ("has been shown to be effective", "tackle a broad set of NLP tasks", "performs much worse than our strategy"),
    "1905.11946": ("Scaling up ConvNets is widely used", "five commonly used transfer learning datasets"),
    "1907.11692": ("Self-training methods such as ELMo", "models and code for pretraining", "RACE, SQuAD and GLUE"),
    "1911.05722": ("learning is highly successful in natural language", "training longer without shuffling BN overfits more"),
    "2002.08909": ("Recent advances in language model pre-training", "provide knowledge rarely observed in text", "RU is impacted by the choice"),
    "2004.04906": ("a task that answers factoid questions", "on multiple open-domain question answering benchmarks", "in our regular reader model training"),
    "2005.11401": ("substantial amount of in-depth knowledge", "misleading content and automated spam/phishing", "in each of our datasets is shown"),
    "2010.01412": ("success in achieving ever better performance", "a more in-depth investigation of these possibilities", "different numbers of inner projected gradient"),
    "2106.09685": ("Only train A and B", "a source of inspiration for future", "directions that are already emphasized"),
    "2108.02497": ("aims to help newcomers avoid some", "accept you don't know everything"),
    "2203.02155": ("can be “prompted” to perform a range", "these models is positive or negative", "the completions are not cherry-picked"),
    "2205.14135": ("have emerged as the most widely used", "our work inspires future work", "Block-Sparse FlashAttention 22 44 104 209"),
    "2212.10496": ("the method of retrieving documents using", "only less common and emerging ones", "to answer the question in detail"),
    "2305.18290": ("trained on very large datasets acquire", "generative models in other modalities", "volunteer did not respond for"),
    "2307.08621": ("makes the “impossible triangle” possible", "RetNet models on various edge devices", "consistent advantage across sequence length"),
    "2401.00368": ("are vector representations of natural language", "improving the quality of synthetic data", "are available in the original paper"),
    "2403.14403": ("Recent Large Language Models (LLMs)", "a critical area for future work", "when solving complex multi-hop queries"),
    "2404.07965": ("has consistently elevated the next-token prediction", "level worthy of in-depth research", "suggests a lower tendency for"),
}  # fmt: skip


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    lines = (FOLDER / "papers.jsonl").read_text(encoding="utf-8").splitlines()
    titles = {record["arxiv_id"]: record["title"] for record in map(json.loads, lines)}
    paths = sorted(FOLDER.glob("*.pdf"))
    pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    with pool:
        found = pool.map(report_on, paths, [titles[path.stem] for path in paths], chunksize=8)
        return {report.name: report for report in found}


def test_chunks_are_the_body_in_order(reports: dict[str, Report]) -> None:
    assert len(reports) == 125
    assert {name: report.faults for name, report in reports.items() if report.faults} == {}


def test_chunks_fit_the_windows_of_both_models(reports: dict[str, Report]) -> None:
    assert min(report.embedder_room for report in reports.values()) >= 0
    assert min(report.reranker_room for report in reports.values()) >= 0


def test_pages_are_those_of_the_pdf(reports: dict[str, Report]) -> None:
    chunks = sum(report.chunks for report in reports.values())
    assert sum(report.misplaced for report in reports.values()) <= 0.01 * chunks


def test_hardly_a_chunk_is_mostly_symbols_or_references(reports: dict[str, Report]) -> None:
    chunks = sum(report.chunks for report in reports.values())
    assert sum(report.symbols for report in reports.values()) < 0.005 * chunks
    assert sum(report.listed for report in reports.values()) <= 0.005 * chunks


def test_the_words_of_the_papers_reach_the_chunks(reports: dict[str, Report]) -> None:
    words = sum(report.words for report in reports.values())
    reached = sum(report.reached for report in reports.values())
    plain = [report for report in reports.values() if report.name not in LETTERED]
    worst = sorted(plain, key=lambda report: report.reached / report.words)[:10]
    print(figures(list(reports.values()), worst))  # noqa: T201
    assert reached > 0.97 * words
    assert worst[0].reached > 0.93 * worst[0].words


def figures(reports: list[Report], worst: list[Report]) -> str:
    lines = [
        f"{what}: {sum(getattr(report, what) for report in reports)}"
        for what in ("chunks", "misplaced", "symbols", "listed", "words", "reached")
    ]
    lines += [
        f"{what}: {min(getattr(report, what) for report in reports)}"
        for what in ("embedder_room", "reranker_room")
    ]
    lines += [f"{report.name} {report.reached / report.words:.3f}" for report in worst]
    return "\n".join(lines)


def test_no_more_than_seven_words_of_a_sentence_are_quoted() -> None:
    assert max(len(words.split()) for ends in ENDS.values() for words in ends) <= 7


@pytest.mark.parametrize("name", ENDS)
def test_hand_read_ends_are_in_a_chunk(name: str, reports: dict[str, Report]) -> None:
    missing = [words for words in ENDS[name] if folded(words) not in reports[name].text]
    assert missing == []
