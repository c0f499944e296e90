"""Engine: opened once, shared by page, API, terminal and evaluation."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.agent.events import CompletePayload, ErrorPayload, Event
from rag.agent.graph import build_graph, recursion_limit
from rag.agent.state import AgentContext, AgentState
from rag.cards import PaperCard, make_card, merged_catalogue
from rag.compute import ComputePool
from rag.errors import CancelledError, ProviderError
from rag.hosting import hosting_platform
from rag.indexing.build_summary import BuildSummary
from rag.indexing.builder import build_index, pdf_files, records_wanted
from rag.indexing.paper_facts import PaperFacts
from rag.indexing.starter import ensure_starter_index
from rag.papers import Library
from rag.question_run import QuestionRun
from rag.reasoning.extractive import ExtractiveReasoner
from rag.reasoning.protocol import CallMeter, CancelToken, Reasoner
from rag.reasoning.step_down import StepDown
from rag.results import AskRequest, LibraryFacts, Result
from rag.retrieval.embed import Embedder, open_embedder
from rag.retrieval.index import OpenIndex, open_index
from rag.retrieval.late_interaction import LateModel, open_late_model
from rag.retrieval.open_reranker import open_reranker
from rag.retrieval.reranker import Reranker
from rag.retrieval.search import Searcher
from rag.selection.snapshot import merge_records
from rag.selection.topics import catalogue
from rag.settings import Settings, load_settings

if TYPE_CHECKING:
    from rag.reasoning.llm import LlmReasoner

logger = logging.getLogger(__name__)
TICK_SECONDS = 0.25


class Engine:
    """Answers questions over one open index; safe to use from several threads.

    ``Engine.open`` raises ``IndexUnavailableError`` or ``ModelUnavailableError`` with one
    sentence that says what to run.
    """

    def __init__(
        self,
        settings: Settings,
        index: OpenIndex,
        embedder: Embedder,
        late: LateModel,
        reranker: Reranker | None,
        llm: Reasoner | None = None,
        known: Library | None = None,
        second: Reasoner | None = None,
    ) -> None:
        self.settings = settings
        self.index = index
        self.catalogue = merged_catalogue(known or Library([]), index.papers)
        self.searcher = Searcher(index, embedder, late, reranker)
        self._extractive = ExtractiveReasoner(self.searcher.lexicon, reranker, self.searcher.names)
        # In the order in which they are asked; without any, answers are extractive.
        self._llms = tuple(item for item in (llm, second) if item is not None)
        self._graph = build_graph()

    @classmethod
    def open(cls, settings: Settings | None = None) -> Engine:
        """Open models and index as the settings say; the starter library without an index."""
        settings = settings or load_settings()
        pool = ComputePool()
        embedder = open_embedder(settings.indexing.embedder, pool)
        late = open_late_model(pool, settings.corpus_dir)
        reranker = open_reranker(settings, pool)
        known = catalogue(settings.corpus_dir)
        root = settings.index or ensure_starter_index(
            settings.corpus_dir,
            settings.data_dir / "starter-index",
            known,
            embedder,
            late,
            settings.indexing,
        )
        index = open_index(root, embedder)
        llm = open_llm(settings, reranker)
        second = open_fallback(settings, reranker)
        return cls(settings, index, embedder, late, reranker, llm, known, second)

    @property
    def library(self) -> Library:
        """All papers that can be searched."""
        return self.index.papers

    @property
    def facts(self) -> LibraryFacts:
        """Live numbers for the page."""
        manifest = self.index.manifest
        reranker = self.searcher.reranker
        return LibraryFacts(
            kind=manifest.kind,
            papers=manifest.papers,
            listed=len(self.catalogue),
            chunks=manifest.chunks,
            topics=len(self.library.topics()),
            embedder=manifest.embedder,
            reranker=reranker.name if reranker else "none",
            reasoner_label=_label(self._llms),
            fingerprint=manifest.fingerprint,
            degraded=self.searcher.degraded,
        )

    def card(self, paper_id: str) -> PaperCard | None:
        """Everything known about one listed paper; None when it is not listed."""
        return make_card(paper_id, self.catalogue, self.index, self.settings.corpus_dir)

    def ask(self, request: AskRequest | str) -> Result:
        """The result of one question; never raises for what a visitor can type."""
        asked = AskRequest(question=request) if isinstance(request, str) else request
        result = None
        for event in self.stream(asked):
            if event is not None and isinstance(event.payload, CompletePayload | ErrorPayload):
                result = event.payload.result
        assert result is not None, "the stream ends with complete or error"
        return result

    def stream(self, request: AskRequest) -> Iterator[Event | None]:
        """The events of one question, as they happen; None is a tick while nothing happens.

        The last event is ``complete`` or ``error``. Closing the iterator stops the work: the
        graph ends at its next step and an open model stream is closed.
        """
        cancel = CancelToken()
        events: queue.Queue[Event | None] = queue.Queue()
        worker = threading.Thread(
            target=self._work, args=(request, cancel, events), name="question", daemon=True
        )
        worker.start()
        try:
            while True:
                try:
                    event = events.get(timeout=TICK_SECONDS)
                except queue.Empty:
                    yield None
                    continue
                if event is None:
                    return
                yield event
        finally:
            cancel.cancel()

    def ingest(self, pdf_dir: Path, index: Path, metadata: tuple[Path, ...] = ()) -> BuildSummary:
        """Build or extend an index from a folder of PDFs; see ``scripts/build_index.py``."""
        from rag.indexing.extract import extract_paper

        files = pdf_files(pdf_dir)
        records = merge_records(metadata, set(records_wanted(files)))
        facts = PaperFacts(catalogue(self.settings.corpus_dir), records)
        return build_index(
            files,
            index,
            facts,
            self.searcher.embedder,
            self.searcher.late,
            self.settings.indexing,
            extract_paper,
        )

    def close(self) -> None:
        """Close the index and the connections to a language model."""
        self.index.close()
        for llm in self._llms:
            llm.close()

    def _work(
        self, request: AskRequest, cancel: CancelToken, events: queue.Queue[Event | None]
    ) -> None:
        run = QuestionRun(self, request, cancel)
        try:
            for event in run.events():
                events.put(event)
        except CancelledError:
            logger.info("a question was stopped")
        finally:
            events.put(None)

    def context_for(
        self, request: AskRequest, question: str, settings: Settings, cancel: CancelToken
    ) -> AgentContext:
        """The resources of one question."""
        llms = () if request.reasoner == "extractive" else self._llms
        fall_back = settings.reasoning.on_provider_failure == "extractive"
        return AgentContext(
            request=request,
            question=question,
            settings=settings,
            library=self.catalogue,
            searcher=self.searcher,
            reasoner=StepDown(llms, self._extractive, fall_back=fall_back),
            cancel=cancel,
            meter=CallMeter(settings.reasoning.max_calls),
        )

    def run_graph(self, state: AgentState, context: AgentContext) -> Iterator[tuple[str, Any]]:
        """The graph's own stream: ``("custom", Emission)`` and ``("values", state)`` items."""
        yield from self._graph.stream(
            state,
            context=context,
            stream_mode=["custom", "values"],
            config={"recursion_limit": recursion_limit(context.settings)},
        )


def _label(llms: tuple[Reasoner, ...]) -> str:
    return (llms[0].model or llms[0].provider) if llms else "extractive"


def open_llm(settings: Settings, reranker: Reranker | None) -> Reasoner | None:
    """The language model that settings and environment name; None for the extractive reasoner.

    Fails closed: on a public host a provider that bills money is used only when
    ``reasoning.allow_paid_on_host`` says so; with ``STRICT_HOSTING=1`` the app refuses to start.
    Raises ``ProviderError`` with a sentence that names the variable to set.
    """
    from rag.reasoning.llm import make_llm_reasoner

    llm = make_llm_reasoner(settings, os.environ, evidence_floor=_floor(reranker))
    return _if_allowed(llm, settings, "a billed key, so it is not used and answers are extractive")


def open_fallback(settings: Settings, reranker: Reranker | None) -> Reasoner | None:
    """The second provider, asked when the first one fails; None without one. Fails closed like
    the first."""
    from rag.reasoning.fallback import make_fallback_reasoner

    llm = make_fallback_reasoner(settings, os.environ, evidence_floor=_floor(reranker))
    return _if_allowed(llm, settings, "a fallback that is billed, so it is not used")


def _floor(reranker: Reranker | None) -> float | None:
    return reranker.calibration.evidence_floor if reranker else None


def _if_allowed(llm: LlmReasoner | None, settings: Settings, state: str) -> LlmReasoner | None:
    host = hosting_platform(os.environ, settings.serving.host)
    if (
        llm is None
        or llm.billing != "paid"
        or host is None
        or settings.reasoning.allow_paid_on_host
    ):
        return llm
    llm.close()
    reason = (
        f"This app runs on {host} with {state}; set "
        "RAG_REASONING__ALLOW_PAID_ON_HOST=true to let visitors' questions be billed."
    )
    if os.environ.get("STRICT_HOSTING", "").strip() == "1":
        raise ProviderError(reason, provider=llm.provider, kind="configuration")
    logger.warning("%s", reason)
    return None
