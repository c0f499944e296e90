"""A scripted engine: realistic event sequences without models, for tests and for looking."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rag.agent.events import (
    AnyPayload,
    CompletePayload,
    ErrorPayload,
    Event,
    EventType,
    GradePayload,
    Payload,
    PlanPayload,
    RankedChunk,
    ReformulatePayload,
    RerankPayload,
    RespondPayload,
    RetrievePayload,
    SearchCounts,
    Stage,
    SynthesizePayload,
    TokenPayload,
    VerifyPayload,
)
from rag.cards import PaperCard, SimilarPaper
from rag.chunks import Chunk, ChunkType, make_chunk_id
from rag.indexing.digests import Digest, DigestParagraph
from rag.papers import Library, Paper
from rag.results import (
    AskRequest,
    ChunkRecord,
    CitationRecord,
    ErrorRecord,
    EvidenceRecord,
    NearestPaper,
    Result,
    SentenceRecord,
)
from rag.ui.engine_view import LibraryFacts

HOSTILE_TITLE = "<img src=x onerror=alert(1)> Nets"
HOSTILE_TEXT = "</div><script>1</script><style>body{display:none}</style>"
HOSTILE_ANSWER = (
    "See [x](javascript:alert(1)) and <b onclick=alert(2)>this</b> [1]. "
    "It costs $5 and $x^2$, ${1+1} and {{value}}. " + HOSTILE_TEXT
)
TOPICS = (
    "Retrieval-augmented generation", "Parameter-efficient tuning", "Transformers", "Diffusion",
    "Reinforcement learning", "Distillation", "Graph networks", "Speech", "Evaluation", "Agents",
)  # fmt: skip
_LORA = (
    "Related to our method, adapters add layers after each block. LoRA freezes the pretrained weights and injects "
    "trainable low-rank matrices into the attention projections. In our experiments we adapt only "
    "the query and value projections. Because the update is a product of two small matrices it can "
    "be merged with the frozen weights when deployed, so no additional inference latency is "
    "introduced by construction. We study the number of trainable parameters in the appendix and "
    "compare with adapters of several sizes, and with fine-tuning the biases alone."
)
_PREFIX = (
    "Prefix-tuning keeps the language model parameters frozen and optimizes a sequence of continuous "
    "task-specific vectors. The prefix is prepended to the keys and values of every layer. It takes "
    "up positions that the task itself could have used."
)
_UNIFIED = (
    "We cast adapters, prefix tuning and LoRA as modifications of hidden states. Prefix tuning reduces "
    "the usable sequence length when the prefix is long."
)
_SLEEP = {"plan": 0.2, "retrieve": 0.15, "rerank": 0.5, "grade": 0.3, "verify": 0.25}


def chunk(
    chunk_id: str,
    title: str,
    context: str,
    *,
    kept: bool = True,
    score: float | None = 0.98,
    **more: object,
) -> ChunkRecord:
    paper_id = chunk_id.split(":")[0]
    values: dict[str, object] = {
        "chunk_id": chunk_id, "paper_id": paper_id, "title": title, "section": "4.1 Low-rank updates",
        "page_start": 4, "page_end": 4, "chunk_type": "passage", "text": context,
        "context": context if kept else None, "kept": kept,
        "drop_reason": None if kept else "below_strict_bar", "floored": False, "rank_dense": 2,
        "score_dense": 0.8, "rank_bm25": 1, "score_bm25": 12.0, "rank_fused": 1, "score_fused": 0.03,
        "score_rerank": score, "score_relevance": None if score is None else round(score * 0.7, 4), "rank_paper": 3,
        "sub_query": "LoRA trainable parameters", "also_in": (), "year": 2021,
        "url": f"https://arxiv.org/pdf/{paper_id}v2#page=4",
    }  # fmt: skip
    return ChunkRecord.model_validate({**values, **more})


def citation(
    n: int, chunk_ids: tuple[str, ...], title: str, authors: str, **more: object
) -> CitationRecord:
    paper_id = chunk_ids[0].split(":")[0]
    values: dict[str, object] = {
        "n": n, "paper_id": paper_id, "title": title, "pages": (4,), "chunk_ids": chunk_ids,
        "url": f"https://arxiv.org/pdf/{paper_id}v2#page=4", "authors": authors, "year": 2021,
    }  # fmt: skip
    return CitationRecord.model_validate({**values, **more})


def _evidence(n: int, chunk_id: str, context: str, part: str) -> EvidenceRecord:
    start = context.index(part)
    return EvidenceRecord(n=n, chunk_id=chunk_id, page=4, start=start, end=start + len(part))


def compound_result(question: str) -> Result:
    lora, prefix, unified = (
        "2106.09685:0012:aaaaaaaa",
        "2101.00190:0003:bbbbbbbb",
        "2110.04366:0001:cccccccc",
    )
    parts: tuple[tuple[str, tuple[int, ...], tuple[EvidenceRecord, ...], str, str], ...] = (
        ("LoRA freezes the pretrained weights and trains a pair of **low-rank matrices** added to chosen projections [1].",
         (1,), (_evidence(1, lora, _LORA, "LoRA freezes the pretrained weights and injects trainable low-rank matrices into the attention projections."),), "supported", ""),
        (" Prefix-tuning instead keeps the whole network fixed and learns continuous vectors that are placed before the keys and values of every layer [2].",
         (2,), (_evidence(2, prefix, _PREFIX, "The prefix is prepended to the keys and values of every layer."),), "supported", ""),
        ("\n\nAt inference the low-rank update can be merged into the weights, so LoRA adds no latency [1].",
         (1,), (_evidence(1, lora, _LORA, "no additional inference latency is introduced by construction"),), "supported", ""),
        (" A prefix uses up part of the sequence length that the task could have used [2][3].",
         (2, 3), (_evidence(3, unified, _UNIFIED, "Prefix tuning reduces the usable sequence length when the prefix is long."),), "partly", "the passage says so only for long prefixes"),
        (" Training a prefix of 200 vectors costs about $40 on one GPU [3].",
         (3,), (), "not", "no sentence of the passage gives a price"),
    )  # fmt: skip
    answer, sentences = "", []
    for words, cites, evidence, support, reason in parts:
        start = len(answer) + len(words) - len(words.lstrip())
        answer += words
        sentences.append(
            SentenceRecord.model_validate(
                {
                    "text": words.strip(),
                    "start": start,
                    "end": len(answer),
                    "cites": cites,
                    "evidence": evidence,
                    "support": support,
                    "reason": reason,
                }
            )
        )
    titles = (
        "LoRA: Low-Rank Adaptation of Large Language Models",
        "Prefix-Tuning: Optimizing Continuous Prompts for Generation",
        "Towards a Unified View of Parameter-Efficient Transfer Learning",
    )
    return Result(
        question=question, answer=answer, route="partial", is_compound=True, passes=2,
        sub_queries=("LoRA trainable parameters", "prefix-tuning trainable parameters"),
        context_sufficient=True, missing_elements=("a measured latency for prefix-tuning on the same hardware",),
        citations=(
            citation(1, (lora, "2106.09685:0020:dddddddd"), titles[0], "Hu et al."),
            citation(2, (prefix,), titles[1], "Li, Liang", chunk_type="digest"),
            citation(3, (unified,), titles[2], "He et al."),
        ),
        chunks=(
            chunk(lora, titles[0], _LORA),
            chunk("2106.09685:0020:dddddddd", titles[0], "The rank can be as small as one for the query and value projections.",
                  score=0.81, section="7.2 Rank", page_start=10, page_end=11, rank_dense=None, rank_fused=6),
            chunk(prefix, titles[1], _PREFIX, score=0.91, chunk_type="digest", section="Method",
                  page_start=None, page_end=None, rank_dense=1, rank_bm25=4, rank_fused=2),
            chunk(unified, titles[2], _UNIFIED, score=0.5, floored=True, section="2.2 Overview", rank_dense=7, rank_bm25=None, rank_fused=9),
            chunk("2104.08691:0002:eeeeeeee", "The Power of Scale for Parameter-Efficient Prompt Tuning", "Prompt tuning …", score=0.55),
            chunk("1902.00751:0004:ffffffff", "Parameter-Efficient Transfer Learning for NLP", "Adapters …", kept=False, score=0.31),
        ),
        sentences=tuple(sentences), reasoner="llm", model="gpt-5.6-luna", timings_ms={"total": 1920.0},
        llm_calls=5, cost_usd=0.0011, bar=0.5, index_fingerprint="abc123abc123",
    )  # fmt: skip


def simple_result(question: str, answer: str = "", title: str = "", context: str = "") -> Result:
    answer = answer or f"About “{question}”: the update is a product of two small matrices [1]."
    title, context = title or "LoRA: Low-Rank Adaptation of Large Language Models", context or _LORA
    chunk_id = "2106.09685:0012:aaaaaaaa"
    return Result(
        question=question, answer=answer, route="answer", passes=1, context_sufficient=True,
        citations=(citation(1, (chunk_id,), title, "Hu et al."),),
        chunks=(chunk(chunk_id, title, context, section=title),),
        sentences=(SentenceRecord(text=answer, start=0, end=len(answer), cites=(1,), support="supported",
                                  evidence=(EvidenceRecord(n=1, chunk_id=chunk_id, page=4, start=0, end=40),)),),
        timings_ms={"total": 640.0}, bar=0.5,
    )  # fmt: skip


def refusal_result(question: str) -> Result:
    return Result(
        question=question, route="refusal", passes=2, bar=0.5, timings_ms={"total": 910.0},
        answer="Nothing in these papers answers this. The closest passages are about something else.",
        nearest=(
            NearestPaper(paper_id="2312.10997", title="Retrieval-Augmented Generation for Large Language Models: A Survey", score=0.07, topic=TOPICS[0]),
            NearestPaper(paper_id="2006.11239", title="Denoising Diffusion Probabilistic Models", score=0.02, topic=TOPICS[3]),
        ),
    )  # fmt: skip


class FakeEngine:
    """Answers by key words in the question; ``pace`` stretches its waits; counts what it gave."""

    def __init__(self, papers: int = 304, pace: float = 1.0, kind: str = "starter") -> None:
        self.pace = pace
        self.requests: list[AskRequest] = []
        self.tokens_given = 0
        self.closed = 0
        self._catalogue = Library(make_papers(papers))
        self._library = Library(paper for paper in self._catalogue if paper.searchable)
        self._facts = LibraryFacts(
            "starter" if kind == "starter" else "built", len(self._library), papers, papers * 4, len(TOPICS),
            "bge-small-en-v1.5", "ms-marco-MiniLM-L-12-v2", "extractive", "abc123abc123",
        )  # fmt: skip

    @property
    def library(self) -> Library:
        return self._library

    @property
    def catalogue(self) -> Library:
        return self._catalogue

    @property
    def facts(self) -> LibraryFacts:
        return self._facts

    def card(self, paper_id: str) -> PaperCard | None:
        paper = self._catalogue.get(paper_id)
        return None if paper is None else make_card(paper, self._library)

    def stream(self, request: AskRequest) -> Iterator[Event | None]:
        self.requests.append(request)
        done = False
        try:
            yield from self._script(request)
            done = True
        finally:
            self.closed += not done

    def _script(self, request: AskRequest) -> Iterator[Event | None]:
        script = Script(self, request)
        words = request.question.casefold()
        if not words.strip():
            yield script.complete(
                Result(question=request.question, route="invalid", answer="Please type a question.")
            )
        elif "crash" in words:
            raise RuntimeError("secret /etc/passwd")
        elif "how many" in words:
            yield from script.catalogue()
        elif "pizza" in words:
            yield from script.run(refusal_result(request.question), loop=True)
        elif "fail" in words:
            yield from script.fail()
        elif "hostile" in words or "<svg" in words:
            yield from script.run(
                simple_result(request.question, HOSTILE_ANSWER, HOSTILE_TITLE, HOSTILE_TEXT + _LORA)
            )
        elif "slow" in words:
            answer = "".join(f"word{number} " for number in range(200))
            yield from script.run(
                simple_result(request.question, answer), per_token=0.1 / max(self.pace, 0.01)
            )
        elif "differ" in words:
            yield from script.run(compound_result(request.question), loop=True)
        else:
            yield from script.run(simple_result(request.question))


class Script:
    """Builds the events of one question."""

    def __init__(self, engine: FakeEngine, request: AskRequest) -> None:
        self.engine, self.request = engine, request
        self.begin, self.seq = time.monotonic(), 0

    def event(
        self,
        type_: EventType,
        stage: Stage | None,
        payload: AnyPayload,
        ms: float | None = None,
        pass_: int = 1,
    ) -> Event:
        self.seq += 1
        clock = (time.monotonic() - self.begin) * 1000
        return Event.model_validate(
            {"seq": self.seq, "type": type_, "node": f"{stage}_node", "stage": stage, "pass": pass_,
             "elapsed_ms": clock if ms is None else ms, "payload": payload}
        )  # fmt: skip

    def wait(self, seconds: float) -> Iterator[None]:
        left = seconds * self.engine.pace
        while left > 0.25:
            time.sleep(0.25)
            left -= 0.25
            yield None
        time.sleep(left)

    def stage(self, stage: Stage, payload: AnyPayload, pass_: int = 1) -> Iterator[Event | None]:
        yield self.event("started", stage, Payload(), pass_=pass_)
        seconds = _SLEEP.get(stage, 0.1)
        yield from self.wait(seconds)
        yield self.event("finished", stage, payload, seconds * 1000, pass_)

    def complete(self, result: Result) -> Event:
        return self.event("complete", None, CompletePayload(result=result))

    def catalogue(self) -> Iterator[Event | None]:
        plan = PlanPayload(
            route="catalogue", is_compound=False, sub_queries=(), question=self.request.question
        )
        yield from self.stage("plan", plan)
        yield from self.stage("respond", RespondPayload(route="catalogue"))
        answer = f"The library holds {len(self.engine.library)} papers.\n\n- 2023: 61\n- 2022: 48"
        yield self.complete(
            Result(
                question=self.request.question,
                route="catalogue",
                answer=answer,
                timings_ms={"total": 12.0},
            )
        )

    def fail(self) -> Iterator[Event | None]:
        yield from self.stage("plan", self._plan(False))
        yield self.event("started", "retrieve", Payload())
        error = ErrorRecord(
            code="index_unavailable", message="The library is being rebuilt.", retryable=True
        )
        result = Result(question=self.request.question, route="error", error=error)
        yield self.event("error", None, ErrorPayload(error=error, result=result))

    def _plan(self, compound: bool) -> PlanPayload:
        queries = ("LoRA trainable parameters", "prefix-tuning trainable parameters")
        return PlanPayload(route="answer", is_compound=compound, question=self.request.question,
                           sub_queries=queries if compound else (self.request.question,))  # fmt: skip

    def search(self, result: Result, pass_: int) -> Iterator[Event | None]:
        queries = (
            self._plan(result.is_compound).sub_queries
            if pass_ == 1
            else ("prefix-tuning inference latency",)
        )
        counts = tuple(
            SearchCounts(
                sub_query=query, abstracts=5, passages=15, keyword=20, fused=25, found_by_both=11
            )
            for query in queries
        )
        yield from self.stage("retrieve", RetrievePayload(searches=counts, new_chunks=40), pass_)
        ranked = tuple(
            RankedChunk(**item.model_dump(include=set(RankedChunk.model_fields)))
            for item in result.chunks
        )
        yield from self.stage(
            "rerank",
            RerankPayload(reranker="ms-marco-MiniLM-L-12-v2", scored=25 * len(queries), kept=sum(item.kept for item in ranked),
                          dropped={"below_bar": 14, "below_strict_bar": 3}, floored=1, bar=0.5, strict_bar=0.8, chunks=ranked),
            pass_,
        )  # fmt: skip

    def run(
        self, result: Result, loop: bool = False, per_token: float = 0.03
    ) -> Iterator[Event | None]:
        yield from self.stage("plan", self._plan(result.is_compound))
        refused = result.route == "refusal"
        for pass_ in (1, 2) if loop else (1,):
            yield from self.search(result, pass_)
            again = loop and pass_ == 1
            yield from self.stage(
                "grade",
                GradePayload(sufficient=not (again or refused), reason="Both parts are covered by 4 papers." if not (again or refused) else "Part of the question is open.",
                             missing_elements=("inference cost of prefix-tuning",) if again or refused else (), relevant=6, irrelevant=2,
                             best_score=0.98, next="reformulate" if again else "synthesize"),
                pass_,
            )  # fmt: skip
            if again:
                yield from self.stage(
                    "reformulate",
                    ReformulatePayload(sub_queries=("prefix-tuning inference latency",)),
                    pass_,
                )
        yield self.event("started", "synthesize", Payload())
        began = time.monotonic()
        for token in result.answer.split(" "):
            self.engine.tokens_given += 1
            yield self.event("token", "synthesize", TokenPayload(text=token + " "))
            yield from self.wait(per_token)
        yield self.event(
            "finished", "synthesize",
            SynthesizePayload(route=result.route, sentences=len(result.sentences), papers_cited=len(result.citations), invalid_citations=0),
            (time.monotonic() - began) * 1000,
        )  # fmt: skip
        support = [item.support for item in result.sentences]
        yield from self.stage(
            "verify",
            VerifyPayload(
                supported=support.count("supported"),
                partly=support.count("partly"),
                unsupported=support.count("not"),
                sentences=result.sentences,
            ),
        )
        yield self.complete(result)


def make_papers(count: int) -> list[Paper]:
    known = [
        Paper("2106.09685", "LoRA: Low-Rank Adaptation of Large Language Models", ("Edward J. Hu", "Yelong Shen", "Phillip Wallis"), "2021-06-17", ("cs.CL",), TOPICS[1], "hand_picked", "v2", names=("LoRA",), holding="full_text"),
        Paper("1706.03762", "Attention Is All You Need", ("Ashish Vaswani", "Noam Shazeer"), "2017-06-12", ("cs.CL",), TOPICS[2], "hand_picked", "v7", names=("Transformer",), holding="digest"),
        Paper("1301.3781", "Efficient Estimation of Word Representations in Vector Space", ("Tomas Mikolov", "Ákos Schrödinger"), "2013-01", ("cs.CL",), TOPICS[2], "hand_picked", None, names=("word2vec",), holding="metadata"),
        Paper("2301.00001", HOSTILE_TITLE, ("<b>Eve</b>",), "2023-01-01", ("cs.LG",), TOPICS[0], "fill", None, holding="digest"),
        Paper("2301.00002", "A | table * of _odd_ $x_1$ marks [and](javascript:alert(1)) `code` www.evil.example", tuple(f"Author Number{number}" for number in range(60)), "2023-01-02", ("cs.LG",), TOPICS[0], "fill", None, holding="digest"),
        Paper("2301.00003", "Very long " + "title words " * 33, ("Ann Onymous",), "2023", (), None, "fill", None, holding="metadata"),
    ]  # fmt: skip
    more = [
        Paper(f"24{number // 1000 + 1:02d}.{number % 1000 + 10000:05d}", f"On the Study of Topic {number} with Adaptive Methods", (f"Given Family{number}", "Second Writer"), f"{2015 + number % 10}-03-01", ("cs.LG",), TOPICS[number % len(TOPICS)], "hand_picked" if number % 3 == 0 else "fill", "v1", holding="metadata" if number % 4 == 1 else "digest")
        for number in range(count - len(known))
    ]  # fmt: skip
    return [*known, *more]


def make_card(paper: Paper, library: Library) -> PaperCard:
    """A card as the engine gives it: an abstract and passages only where the full text is held."""
    if not paper.searchable:
        return PaperCard(paper, None, None, (), ())
    words = HOSTILE_TEXT if paper.title == HOSTILE_TITLE else "It adds two small matrices."
    digest = Digest(
        paper_id=paper.paper_id,
        title=paper.title,
        authors=paper.authors,
        paragraphs=(
            DigestParagraph(kind="summary", pages=(1, 2), text=f"The summary of the paper. {words}"),
            DigestParagraph(kind="findings", pages=(4, 6, 7), text="The findings of the paper are told here."),
        ),
    )  # fmt: skip
    full = paper.holding == "full_text"
    abstract = f"The abstract. {words}" if full else None
    texts = (
        [abstract or "", *(f"Passage {number}. {words}" for number in range(30))]
        if full
        else [part.text for part in digest.paragraphs]
    )
    chunks = tuple(
        make_chunk(paper, number, words, "abstract" if full and number == 0 else "passage" if full else "digest")
        for number, words in enumerate(texts)
    )  # fmt: skip
    others = [item for item in library if item.paper_id != paper.paper_id][-3:]
    near = tuple(SimilarPaper(item, 0.9 - place / 10) for place, item in enumerate(others))
    return PaperCard(paper, digest, abstract, chunks, near)


def make_chunk(paper: Paper, number: int, words: str, kind: ChunkType) -> Chunk:
    breaks = () if kind == "abstract" else ((0, number + 1), (5, number + 2))
    return Chunk(
        make_chunk_id(paper.paper_id, number, words), paper.paper_id, number, kind, words,
        "Abstract" if kind == "abstract" else f"{number} Section", breaks, 0, len(words), 40, 44,
    )  # fmt: skip
