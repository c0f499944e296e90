#!/usr/bin/env python
"""Measure the speed of retrieval: ratios and medians in one run, paired, after warm-up.

python scripts/bench_latency.py --index DIR [--part keyword rerank together vectors whole ...]

Each part prints what it compares. "growth" and "start" make copies of the index of the sizes in
--sizes in a scratch folder; "vectors" does so for its two sizes. Machines are noisy: what is to be
compared runs in turn, and medians are shown.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from rag.compute import ComputePool
from rag.engine import Engine, open_reranker
from rag.evaluation.questions import read_questions
from rag.evaluation.scaled_index import write_scaled_index
from rag.indexing.chunk_table import ChunkTable
from rag.indexing.generation import current_generation
from rag.reasoning.rule_planner import plan_by_rules
from rag.results import Scope
from rag.retrieval.chroma_store import ChromaStore
from rag.retrieval.keyword import build_keyword_index, load_keyword_index, save_keyword_index
from rag.retrieval.terms import terms
from rag.settings import load_settings

KEYWORD_CHUNKS = 24_278
POOL = 25
RECALL_AT = 15
QUESTIONS = Path("corpus/eval/questions.jsonl")
START_CHUNKS = 25_000
PARTS = ("keyword", "rerank", "together", "vectors", "whole", "growth", "start", "cost")


def main() -> int:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS[:-1]))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000, 80_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        bench = Bench(arguments.index, Path(scratch), arguments.runs, arguments.sizes)
        for part in arguments.part:
            print(f"== {part}")
            getattr(bench, part)()
    return 0


def timed(function: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    function()
    return (time.perf_counter() - started) * 1000


def paired(runs: int, *functions: Callable[[], object]) -> list[float]:
    """Medians of several functions, run in turn so that noise hits all alike."""
    for function in functions:
        function()
    times = [[timed(function) for function in functions] for _ in range(runs)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def run(command: Sequence[str]) -> str:
    """What a Python script prints; raises when it fails."""
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=True, timeout=600
    )
    return done.stdout


class Bench:
    """The parts; scaled indexes are made once."""

    def __init__(self, index: Path, scratch: Path, runs: int, sizes: Sequence[int]) -> None:
        self.index, self.scratch, self.runs, self.sizes = index, scratch, runs, sizes
        self.settings = load_settings(index=index)
        questions = read_questions(QUESTIONS, "report")
        self.simple = [q.question for q in questions if q.category in ("fact", "number", "short")]
        self.compound = [q.question for q in questions if q.category == "comparison"]
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The engine over the index as it is, opened at first use."""
        if self._engine is None:
            self._engine = Engine.open(self.settings)
        return self._engine

    def keyword(self) -> None:
        """BM25 against rank_bm25 on the same token lists, and loading against building."""
        from rank_bm25 import BM25Okapi

        documents = self._token_lists(KEYWORD_CHUNKS)
        names = [f"c{number}" for number in range(len(documents))]
        queries = [terms(question) for question in self.simple[:20]]
        build = timed(lambda: build_keyword_index(names, documents))
        ours, reference = build_keyword_index(names, documents), BM25Okapi(documents)
        same = all((ours.scores(query) == reference.get_scores(query)).all() for query in queries)
        path = self.scratch / "keyword.npz"
        save_keyword_index(ours, path)
        [load] = paired(self.runs, lambda: load_keyword_index(path))
        ratios = []
        for query in queries:
            # The fast one is called often enough between two slow ones for a steady median.
            slow, *fast_ones = paired(
                3,
                lambda query=query: np.argsort(-reference.get_scores(query), kind="stable")[:20],
                *[lambda query=query: ours.search(query, 20)] * 30,
            )
            fast = statistics.median(fast_ones)
            ratios.append((slow / fast, fast, slow))
        ratio, fast, slow = (statistics.median(column) for column in zip(*ratios, strict=True))
        print(f"{len(documents):,} chunks, {len(queries)} questions, scores bit-identical: {same}")
        print(f"search {fast:.2f} ms, rank_bm25 {slow:.0f} ms: {ratio:.0f} times faster")
        print(f"load {load:.0f} ms, build {build:.0f} ms: {build / load:.0f} times faster")

    def _token_lists(self, count: int) -> list[list[str]]:
        texts = [chunk.text for chunk in self._chunks()]
        repeated = [texts[place % len(texts)] for place in range(count)]
        known: dict[str, list[str]] = {}
        return [known.setdefault(text, terms(text)) for text in repeated]

    def _chunks(self) -> list:
        table = ChunkTable(current_generation(self.index))
        try:
            return [chunk for batch, _ in table.batches(5000) for chunk in batch]
        finally:
            table.close()

    def rerank(self) -> None:
        """A pool of 25 one pair a call, against FlashRank's own padded batch of the same chunks."""
        from flashrank import Ranker, RerankRequest

        pool = ComputePool()
        reranker = open_reranker(self.settings, pool)
        assert reranker is not None, "the local reranker is needed"
        reranker.load()
        cache = self.settings.data_dir / "models"
        batch = Ranker("ms-marco-MiniLM-L-12-v2", cache_dir=str(cache), log_level="WARNING")
        question = self.simple[0]
        texts = [chunk.text for chunk in self._chunks()[100::97]]
        joined = [" ".join(texts[place : place + 3])[:2000] for place in range(0, 3 * POOL, 3)]
        for name, passages in (("chunks as indexed", texts[:POOL]), ("2,000 characters", joined)):
            request = [{"id": n, "text": text} for n, text in enumerate(passages)]
            ours, theirs = paired(
                self.runs,
                lambda passages=passages: reranker.score([(question, t) for t in passages]),
                lambda request=request: batch.rerank(
                    RerankRequest(query=question, passages=[dict(entry) for entry in request])
                ),
            )
            print(f"{name}: {ours:.0f} ms, padded batch {theirs:.0f} ms: {theirs / ours:.1f} times")

    def together(self) -> None:
        """Three sub-queries at once against one, and against one after another."""
        searcher, settings = self.engine.searcher, self.settings
        three = self.simple[:3]

        def search(queries: Sequence[str]) -> list:
            return searcher.retrieve(queries, settings, Scope(), frozenset())

        one, in_turn, at_once = paired(
            self.runs,
            lambda: search(three[:1]),
            lambda: [search([query]) for query in three],
            lambda: search(three),
        )
        apart = [search([query])[0] for query in three]
        same = [[item.chunk.chunk_id for item in pool.candidates] for pool in search(three)] == [
            [item.chunk.chunk_id for item in pool.candidates] for pool in apart
        ]
        print(f"one {one:.0f} ms, three at once {at_once:.0f} ms ({at_once / one:.2f} times one),")
        print(f"three in turn {in_turn:.0f} ms; same chunks in the same order: {same}")

    def vectors(self) -> None:
        """Vector search at 25,000 and 80,000 chunks, with recall against exact search."""
        for size in (25_000, 80_000):
            root = self._scaled(size)
            table = ChunkTable(current_generation(root))
            ids: list[str] = []
            rows = []
            for chunks, vectors in table.batches(5000):
                keep = [n for n, chunk in enumerate(chunks) if chunk.chunk_index]
                ids += [chunks[n].chunk_id for n in keep]
                rows.append(vectors[keep])
            table.close()
            exact = np.concatenate(rows)
            store = ChromaStore(current_generation(root) / "chroma")
            queries = self.engine.searcher.embedder.embed_queries(self.simple[:30])
            store.search("passages", queries[:1], RECALL_AT)
            times, recalls = [], []
            for query in queries:
                started = time.perf_counter()
                hits = store.search("passages", query[None, :], RECALL_AT)[0]
                times.append((time.perf_counter() - started) * 1000)
                best = {ids[n] for n in np.argsort(-(exact @ query), kind="stable")[:RECALL_AT]}
                recalls.append(len(best & {hit.chunk_id for hit in hits}) / RECALL_AT)
            store.close()
            print(
                f"{len(ids):,} passages: p50 {statistics.median(times):.1f} ms, "
                f"recall@{RECALL_AT} {statistics.mean(recalls):.3f}"
            )

    def whole(self) -> None:
        """Search, fusion and reranking of whole questions."""
        names = self.engine.searcher.names
        groups = {
            "simple": [(question,) for question in self.simple],
            "compound": [plan_by_rules(q, (), names).sub_queries for q in self.compound],
            "three parts": [tuple(self.simple[n : n + 3]) for n in range(0, 30, 3)],
        }
        for name, questions in groups.items():
            for queries in questions[:2]:
                self._retrieved(queries)
            times = [
                timed(lambda queries=queries: self._retrieved(queries)) for queries in questions
            ]
            print(f"{name}: p50 {statistics.median(times):.0f} ms over {len(times)} questions")

    def _retrieved(self, queries: Sequence[str]) -> None:
        searcher, settings = self.engine.searcher, self.engine.settings
        pools = searcher.retrieve(queries, settings, Scope(), frozenset())
        searcher.judge(pools, settings, several=len(queries) > 1)

    def cost(self) -> None:
        """What a simple question costs on this index, and the memory of the process."""
        searcher, settings = self.engine.searcher, self.engine.settings
        search, rerank = [], []
        for question in self.simple[:24]:
            started = time.perf_counter()
            pools = searcher.retrieve([question], settings, Scope(), frozenset())
            searched = time.perf_counter()
            searcher.judge(pools, settings, several=False)
            search.append(searched - started)
            rerank.append(time.perf_counter() - searched)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        times = [1000 * statistics.median(column[4:]) for column in (search, rerank)]
        print(
            f"{self.engine.facts.chunks:,} chunks: search {times[0]:.0f} ms, "
            f"rerank {times[1]:.0f} ms, {memory:.0f} MB"
        )

    def growth(self) -> None:
        """The cost at several sizes, each in a process of its own."""
        for size in self.sizes:
            root = self._scaled(size)
            done = run([__file__, "--index", str(root), "--part", "cost"])
            print(done.splitlines()[-1])

    def start(self) -> None:
        """A question in a fresh process: from launch to the end of the answer."""
        size = START_CHUNKS
        command = ["scripts/ask.py", "--index", str(self._scaled(size)), self.simple[0]]
        times = [timed(lambda: run(command)) for _ in range(4)]
        print(f"{size:,} chunks: {statistics.median(times[1:]) / 1000:.1f} s to the answer")

    def _scaled(self, size: int) -> Path:
        root = self.scratch / f"index-{size}"
        if not root.exists():
            took = timed(lambda: write_scaled_index(self.index, root, size))
            print(f"(an index of {size:,} chunks written in {took / 1000:.0f} s)")
        return root


if __name__ == "__main__":
    sys.exit(main())
