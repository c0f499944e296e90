#!/usr/bin/env python
"""Let a judge score exported answers with RAGAS: faithfulness, relevancy, precision and recall.

    .venv/bin/python scripts/eval_answers.py --index DIR --reasoner llm --export-ragas rows.jsonl
    python -m venv .venv-ragas
    .venv-ragas/bin/pip install -r scripts/requirements-ragas.txt
    OPENAI_API_KEY=… .venv-ragas/bin/python scripts/eval_ragas.py rows.jsonl [--judge MODEL]

What ragas brings needs an openai package that the app cannot have, so it has an environment of
its own, which scripts/test.sh does not make. Every row costs about a dozen calls of the judge, at
your expense: try --limit first. A row for which the judge gives no number is NaN; NaN and failed
calls are counted and shown beside each mean, never dropped in silence. Scores are written beside
the rows. ragas 0.4.3 knows "gpt-5-mini" as a reasoning model, but not "gpt-5.6-…": judge with a
model whose name it reads rightly, or with an older one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.errors import RagError
from rag.evaluation.ragas_rows import (
    METRICS,
    RagasRow,
    plain_scores,
    read_ragas_rows,
    score_tables,
)

Score = Callable[[RagasRow], Awaitable[float]]
KEYS = ("RAGAS_JUDGE_API_KEY", "OPENAI_API_KEY")
MISSING = (
    "error: ragas is not installed here. It has its own environment: "
    "python -m venv .venv-ragas && .venv-ragas/bin/pip install -r scripts/requirements-ragas.txt"
)
# A reply of the judge that is cut off cannot be read.
JUDGE_TOKENS = 8192


def main() -> int:
    """Score the rows and print the table; 2 when that cannot begin, 1 when no call succeeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path, help="made by eval_answers.py --export-ragas")
    parser.add_argument("--judge", default="gpt-4.1-mini", help="model that judges")
    parser.add_argument("--embedder", default="text-embedding-3-small", help="for relevancy")
    parser.add_argument("--base-url", help="an OpenAI-compatible server instead of OpenAI")
    parser.add_argument("--metric", choices=METRICS, action="append", help="default: all four")
    parser.add_argument("--limit", type=int, help="only so many rows")
    parser.add_argument("--at-once", type=int, default=4, help="rows judged side by side")
    arguments = parser.parse_args()
    try:
        rows = read_ragas_rows(arguments.rows)[: arguments.limit]
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    key = next((value for name in KEYS if (value := os.environ.get(name, "").strip())), "")
    if not key:
        print(f"error: a judge needs a key in {' or '.join(KEYS)}", file=sys.stderr)
        return 2
    # ragas reports every use to its makers unless this is set before it is imported.
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    try:
        scorers = make_scorers(arguments, key)
    except ImportError as error:
        print(f"{MISSING}\n({error})", file=sys.stderr)
        return 2
    scores, errors = asyncio.run(score_rows(rows, scorers, arguments.at_once))
    for table in score_tables(scores):
        if table.metric in scorers:
            print(table)
    for error, count in errors.most_common(5):
        print(f"{count} calls failed: {error}", file=sys.stderr)
    path = arguments.rows.with_suffix(".scores.jsonl")
    lines = (plain_scores(row, found) for row, found in zip(rows, scores, strict=True))
    path.write_text("".join(f"{json.dumps(line, allow_nan=False)}\n" for line in lines), "utf-8")
    print(f"{len(rows)} rows judged by {arguments.judge}; scores in {path}")
    return 1 if all(value is None for row in scores for value in row.values()) else 0


def make_scorers(arguments: argparse.Namespace, key: str) -> dict[str, Score]:
    """The chosen metrics by name; raises ``ImportError`` without ragas."""
    from openai import AsyncOpenAI
    from ragas.embeddings import OpenAIEmbeddings
    from ragas.llms import llm_factory
    from ragas.metrics.collections import (
        AnswerRelevancy,
        ContextPrecision,
        ContextRecall,
        Faithfulness,
    )

    client = AsyncOpenAI(api_key=key, base_url=arguments.base_url, max_retries=3, timeout=120)
    judge = llm_factory(arguments.judge, client=client, max_tokens=JUDGE_TOKENS)
    faithfulness = Faithfulness(llm=judge)
    relevancy = AnswerRelevancy(
        llm=judge, embeddings=OpenAIEmbeddings(client=client, model=arguments.embedder)
    )
    precision, recall = ContextPrecision(llm=judge), ContextRecall(llm=judge)

    async def faithful(row: RagasRow) -> float:
        found = await faithfulness.ascore(
            user_input=row.user_input,
            response=row.response,
            retrieved_contexts=list(row.retrieved_contexts),
        )
        return float(found.value)

    async def relevant(row: RagasRow) -> float:
        found = await relevancy.ascore(user_input=row.user_input, response=row.response)
        return float(found.value)

    async def precise(row: RagasRow) -> float:
        found = await precision.ascore(
            user_input=row.user_input,
            reference=row.reference,
            retrieved_contexts=list(row.retrieved_contexts),
        )
        return float(found.value)

    async def complete(row: RagasRow) -> float:
        found = await recall.ascore(
            user_input=row.user_input,
            reference=row.reference,
            retrieved_contexts=list(row.retrieved_contexts),
        )
        return float(found.value)

    scorers = dict(zip(METRICS, (faithful, relevant, precise, complete), strict=True))
    chosen = arguments.metric or METRICS
    return {name: scorer for name, scorer in scorers.items() if name in chosen}


async def score_rows(
    rows: Sequence[RagasRow], scorers: Mapping[str, Score], at_once: int
) -> tuple[list[dict[str, float | None]], Counter[str]]:
    """The scores of each row, None for a call that failed, and what the failures were."""
    errors: Counter[str] = Counter()
    places = asyncio.Semaphore(at_once)

    async def one(row: RagasRow) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        async with places:
            for name, scorer in scorers.items():
                try:
                    found[name] = await scorer(row)
                except Exception as error:  # one row must not end the run
                    found[name] = None
                    told = " ".join(str(error).split())[:160]
                    errors[f"{type(error).__name__}: {told}"] += 1
        return found

    return list(await asyncio.gather(*(one(row) for row in rows))), errors


if __name__ == "__main__":
    sys.exit(main())
