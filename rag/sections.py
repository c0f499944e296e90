"""Sections of the settings tree: every knob with its default, bounds, unit and source."""

from __future__ import annotations

from typing import Literal

from rag.knobs import Section, knob

RerankerName = Literal["flashrank-minilm-l12", "flashrank-tinybert-l2", "cohere", "none"]
EmbedderName = Literal["bge-small-en-v1.5", "text-embedding-3-small"]
ProviderFailure = Literal["extractive", "error"]
RouteSort = Literal["price", "throughput", "latency", ""]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", ""]
Verification = Literal["mark", "remove", "off"]


class IndexingSettings(Section):
    """How papers become chunks. Changing any of these makes another index."""

    embedder: EmbedderName = knob("bge-small-en-v1.5", "Model that turns text into vectors.")
    chunk_tokens: int = knob(
        200,
        "Target size of a passage, the unit of search.",
        ge=60,
        le=400,
        unit="wordpieces",
        source="DESIGN §5: ~200-token passages keep the right paper for 0.97 of fact questions",
    )
    overlap_sentences: int = knob(
        2, "Sentences that a passage repeats from the one before it.", ge=0, le=4, unit="sentences"
    )
    overlap_tokens: int = knob(
        60, "Most that the repeated sentences may take.", ge=0, le=150, unit="wordpieces"
    )
    min_chunk_tokens: int = knob(
        20, "Shorter passages are dropped.", ge=0, le=60, unit="wordpieces"
    )
    max_chunk_tokens: int = knob(
        400,
        "Hard limit of a passage: with its title, or with a 64-token question, it must fit the "
        "512 wordpieces of both local models.",
        ge=100,
        le=440,
        unit="wordpieces",
        source="DESIGN §5",
    )
    min_usable_characters: int = knob(
        100, "A PDF with less text is a scan and is skipped.", ge=1, le=10_000, unit="characters"
    )
    seconds_per_file: float = knob(
        60.0, "A worker that needs longer for one file is ended.", ge=1, le=600, unit="seconds"
    )
    workers: int = knob(2, "Processes that read PDFs side by side.", ge=1, le=64, unit="processes")


class RetrievalSettings(Section):
    """How many candidates each search brings and how they are fused."""

    abstracts_per_query: int = knob(
        5, "Abstracts by cosine, per sub-query.", ge=0, le=50, unit="chunks", per_request=True
    )
    passages_per_query: int = knob(
        15, "Passages by cosine, per sub-query.", ge=0, le=100, unit="chunks", per_request=True
    )
    keyword_per_query: int = knob(
        20, "Chunks by BM25, per sub-query.", ge=0, le=100, unit="chunks", per_request=True
    )
    papers_per_query: int = knob(
        12,
        "Papers that match as a whole (abstract, several passages, keywords, late interaction) "
        "and bring their nearest chunk, per sub-query.",
        ge=0,
        le=30,
        unit="papers",
        source="docs/decisions.md",
        per_request=True,
    )
    named_per_query: int = knob(
        4,
        "Chunks of each paper that the question calls by name, per sub-query.",
        ge=0,
        le=20,
        unit="chunks",
        source="docs/decisions.md",
        per_request=True,
    )
    rrf_k: int = knob(
        60,
        "Constant of reciprocal rank fusion: larger flattens the ranks.",
        ge=1,
        le=1000,
        source="Cormack, Clarke, Büttcher 2009",
        per_request=True,
    )
    pool_size: int = knob(
        25, "Fused candidates that are reranked.", ge=1, le=100, unit="chunks", per_request=True
    )
    keep: int = knob(
        8, "Most passages that reach the writer.", ge=1, le=20, unit="passages", per_request=True
    )
    keep_unsure: int = knob(
        14,
        "Most passages where the reranker is sure of none (one a paper, in smaller contexts).",
        ge=1,
        le=20,
        unit="passages",
        source="tuning half, paraphrased questions: 0.89 with 8, 0.90 with 10, 0.92 with 14",
        per_request=True,
    )
    keep_per_paper: int = knob(
        3,
        "Most passages of one paper where several papers are asked for.",
        ge=1,
        le=20,
        unit="passages",
        source="measured: 0.83 -> 0.93 of comparison questions (DESIGN §3)",
        per_request=True,
    )
    keep_per_paper_unsure: int = knob(
        1,
        "Most passages of one paper where the reranker is sure of none: more papers are then "
        "shown to the reader.",
        ge=1,
        le=20,
        unit="passages",
        source="measured on the tuning half: 0.73 -> 0.85 of paraphrased questions",
        per_request=True,
    )
    context_tokens: int = knob(
        440,
        "Size of a kept passage together with its neighbours, as the reader gets it.",
        ge=0,
        le=2000,
        unit="wordpieces",
        source="DESIGN §5",
        per_request=True,
    )


class RerankingSettings(Section):
    """The reranker and the bars that its scores must clear.

    A bar of None means the calibrated value of the chosen reranker.
    """

    name: RerankerName = knob(
        "flashrank-minilm-l12",
        "Model that scores a passage for a question: flashrank-minilm-l12 (local), "
        "flashrank-tinybert-l2 (faster, weaker; downloaded once), cohere (hosted, billed, needs "
        "COHERE_API_KEY), none.",
    )
    bar: float | None = knob(
        None, "Score to be kept at trusted fusion ranks.", ge=0, le=1, per_request=True
    )
    strict_bar: float | None = knob(
        None, "Score to be kept at later fusion ranks.", ge=0, le=1, per_request=True
    )
    trusted_ranks: int = knob(
        10, "Fusion ranks that get the lower bar.", ge=0, le=100, unit="ranks", per_request=True
    )
    hand_picked_floor: bool = knob(
        True,
        "Raise a hand-picked paper among the trusted ranks to the bar when it comes close and "
        "another passage clears the bar unaided.",
        per_request=True,
    )
    evidence_floor: float | None = knob(
        None,
        "Best raw score below which no grader may call the evidence sufficient.",
        ge=0,
        le=1,
        per_request=True,
    )
    tinybert_url: str = knob(
        "https://huggingface.co/prithivida/flashrank/resolve/"
        "858a1ac046a05663a35367eac852d7f76feeefdd/ms-marco-TinyBERT-L-2-v2.zip",
        "Where TinyBERT's archive is downloaded: FlashRank's own, at a fixed revision.",
        source="FlashRank 0.2.10, Config.py",
    )
    tinybert_sha256: str = knob(
        "752eddf1c5ece3c5e6115e9ab52eb3b16436bbf9b3a091cbb62b5b8eadc47105",
        "SHA-256 of TinyBERT's archive; another file is never loaded.",
        source="Hugging Face's record of that revision, as cited by others; not downloaded here",
    )
    tinybert_timeout_seconds: float = knob(
        60.0, "Longest time for that download.", ge=1, le=600, unit="seconds"
    )
    cohere_model: str = knob("rerank-v3.5", "Cohere's model.")
    cohere_url: str = knob("https://api.cohere.com", "Address of Cohere's API.")
    cohere_timeout_seconds: float = knob(
        10.0, "Longest wait for Cohere, for all sub-queries together.", ge=1, le=45, unit="seconds"
    )
    allow_paid_on_host: bool = knob(
        False,
        "On a public host, let visitors' questions be billed to your key at Cohere; otherwise the "
        "local reranker is used there.",
    )


class AgentSettings(Section):
    """The loop."""

    max_passes: int = knob(
        2, "Retrieval passes in all for one question.", ge=1, le=3, unit="passes", per_request=True
    )
    max_question_characters: int = knob(
        2000, "Longer questions are refused.", ge=50, le=20_000, unit="characters"
    )
    verification: Verification = knob(
        "mark", "What happens to sentences that their passages do not support.", per_request=True
    )
    answer_sentences: int = knob(
        6, "Most sentences of an extractive answer.", ge=1, le=12, unit="sentences"
    )
    history_turns: int = knob(3, "Earlier turns that a follow-up sees.", ge=0, le=10, unit="turns")


class ReasoningSettings(Section):
    """Which language model thinks, if any."""

    provider: str = knob(
        "",
        "openai, openrouter, groq, huggingface, anthropic, ollama, compatible, extractive; "
        "empty: by which key is present.",
    )
    model: str = knob("", "Model for all steps; empty: the provider's default.")
    small_model: str = knob(
        "", "Cheaper model for planning, grading and reformulating; empty: the same."
    )
    base_url: str = knob("", "Address of an OpenAI-compatible server.")
    fallback_models: tuple[str, ...] = knob(
        (), "OpenRouter: at most two models tried next within one request."
    )
    route_fallbacks: bool = knob(
        True, "OpenRouter: another host of the model may answer when the first one fails."
    )
    route_sort: RouteSort = knob(
        "price", "OpenRouter: hosts by price, throughput or latency; empty: its own choice."
    )
    fallback_provider: str = knob(
        "", "Second provider, asked when the first one fails; its key is its own variable."
    )
    fallback_model: str = knob("", "Model at the second provider; empty: its default.")
    fallback_base_url: str = knob(
        "",
        "Address of the second provider if it is a compatible server; its key, if any, is "
        "LLM_FALLBACK_API_KEY.",
    )
    effort: Effort = knob(
        "low",
        "How long a reasoning model thinks before it writes; dropped when refused; empty: not "
        "sent.",
    )
    small_effort: Effort = knob("none", "The same for planning, grading and reformulating.")
    temperature: float | None = knob(None, "Sent only when set and accepted.", ge=0, le=2)
    timeout_seconds: float = knob(45.0, "Longest wait for one call.", ge=1, le=45, unit="seconds")
    max_retries: int = knob(2, "Retries of a call that may succeed later.", ge=0, le=5)
    max_calls: int = knob(10, "Most model calls for one question.", ge=1, le=30, unit="calls")
    max_answer_tokens: int = knob(900, "Longest answer.", ge=50, le=4000, unit="tokens")
    allow_paid_on_host: bool = knob(
        False,
        "On a public host, let visitors' questions be billed to your key; otherwise answers there "
        "are extractive.",
    )
    on_provider_failure: ProviderFailure = knob(
        "extractive",
        "When all providers fail: step down to the extractive reasoner, or answer with an error.",
    )


class ServingSettings(Section):
    """Where and how the app listens."""

    host: str = knob("127.0.0.1", "Address to bind.")
    concurrency: int = knob(4, "Questions worked on at once.", ge=1, le=64, unit="questions")
    queue_size: int = knob(24, "Questions that may wait.", ge=1, le=1000, unit="questions")


class FetchingSettings(Section):
    """How arXiv is asked, by scripts only: the app itself never calls it."""

    api_url: str = knob("https://export.arxiv.org/api/query", "Address of the arXiv API.")
    pdf_url: str = knob("https://arxiv.org/pdf", "Address under which PDFs are found by id.")
    seconds_between_calls: float = knob(
        3.0,
        "Pause between two calls; below 3 is used only for a server on this machine.",
        ge=0,
        le=600,
        unit="seconds",
        source="arXiv API user's manual: a delay of 3 seconds; one connection at a time",
    )
    timeout_seconds: float = knob(60.0, "Longest wait for an answer.", ge=1, le=600, unit="seconds")
    attempts: int = knob(6, "Tries of one call before the run stops.", ge=1, le=20, unit="tries")
    first_wait_seconds: float = knob(
        5.0, "Wait after a first failure; it doubles each time.", ge=0, le=600, unit="seconds"
    )
    longest_wait_seconds: float = knob(
        300.0,
        "Ceiling of a wait; a server that asks for a longer one stops the run.",
        ge=0,
        le=3600,
        unit="seconds",
    )
    page_size: int = knob(100, "Records asked for in one call.", ge=1, le=2000, unit="records")
    results_per_query: int = knob(
        200, "Most records taken for one search phrase.", ge=1, le=10_000, unit="records"
    )
    largest_pdf_megabytes: int = knob(
        80, "Longer downloads are given up.", ge=1, le=1000, unit="MB"
    )
