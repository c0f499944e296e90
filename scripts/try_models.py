#!/usr/bin/env python
"""Send the real grading prompt with real evidence to several models and compare them.

python scripts/try_models.py gpt-5.6-luna groq=openai/gpt-oss-20b ollama=qwen3 [--index DIR]

A candidate is MODEL (at the provider of the settings) or PROVIDER=MODEL; keys, addresses and limits
are those of the app. The evidence comes from the index in use, as the grader of the app gets it;
with the index of real papers it has its real size, the starter library's passages are shorter.
Costs a few thousand tokens for each model and question. Ends with 1 when no model could be read.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.agent.graph import fresh_state
from rag.agent.state import AgentState
from rag.engine import Engine
from rag.errors import ProviderError, RagError
from rag.reasoning.failures import quiet_chat_class
from rag.reasoning.llm import LlmReasoner, make_llm_reasoner
from rag.reasoning.protocol import CallMeter, CancelToken, Evidence, QueryPlan, Turn
from rag.reasoning.structured import UNREADABLE_VERDICT
from rag.results import AskRequest
from rag.settings import Settings, load_settings

# Whether the starter library holds the answer. The last three come close to a paper that is there:
# a grader that says yes to them would let the app make things up.
QUESTIONS = (
    ("Which layers does LoRA adapt?", True),
    ("With which probability does dropout switch off a hidden unit during training?", True),
    ("What mean corruption error do Vision Transformers trained with AugReg reach?", False),
    ("How many BLEU points does sharpness-aware minimization add to a Transformer?", False),
    ("What equal error rate does LoRA reach on speaker verification with VoxCeleb1?", False),
)


@dataclass(frozen=True)
class Case:
    """A question with the evidence of the app, and the verdict that is right (None: not known)."""

    question: str
    expected: bool | None
    plan: QueryPlan
    evidence: tuple[Evidence, ...]


@dataclass
class Trial:
    """What one model did. ``verdicts`` holds a word for each case."""

    model: str
    verdicts: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    read: int = 0
    right: int = 0
    judged: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    problem: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask all models and print the table; 0 when at least one could be read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL", help="MODEL or PROVIDER=MODEL")
    parser.add_argument("--index", type=Path, help="folder of a built index")
    parser.add_argument(
        "--questions", type=Path, help='JSON lines: {"question": "…", "sufficient": true}'
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.ERROR, format="%(levelname)s %(message)s")
    try:
        settings = load_settings(**({"index": options.index} if options.index else {}))
        questions = read_questions(options.questions) if options.questions else QUESTIONS
        engine = Engine.open(without_model(settings))
        cases = list(cases_from(engine, questions))
        engine.close()
    except (RagError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not cases:
        print("error: no question found any evidence in this index", file=sys.stderr)
        return 2
    quiet_chat_class()  # its import takes a second, which is not the first model's
    trials = [try_model(settings, os.environ, name, cases) for name in options.models]
    print(as_json(trials, cases) if options.json else report(trials, cases))
    return 0 if any(trial.read for trial in trials) else 1


def read_questions(path: Path) -> list[tuple[str, bool | None]]:
    """The questions of a file. Raises ``ValueError`` for a line that is none."""
    found: list[tuple[str, bool | None]] = []
    for line in filter(str.strip, path.read_text(encoding="utf-8-sig").splitlines()):
        row = json.loads(line)
        if not isinstance(row, dict) or not isinstance(row.get("question"), str):
            raise ValueError(f'{path.name}: a line without a "question".')
        wanted = row.get("sufficient")
        found.append((row["question"], wanted if isinstance(wanted, bool) else None))
    return found


def without_model(settings: Settings) -> Settings:
    """``settings`` for gathering evidence: one pass, no call to anybody."""
    reasoning = settings.reasoning.model_copy(update={"provider": "extractive"})
    agent = settings.agent.model_copy(update={"max_passes": 1, "verification": "off"})
    return settings.model_copy(update={"reasoning": reasoning, "agent": agent})


def cases_from(engine: Engine, questions: Iterable[tuple[str, bool | None]]) -> Iterator[Case]:
    """The questions with what the app's own grader would be given; those that find nothing are
    left out."""
    for question, expected in questions:
        request = AskRequest(question=question)
        context = engine.context_for(request, question, engine.settings, CancelToken())
        state: AgentState = fresh_state(question)
        for kind, item in engine.run_graph(state, context):
            if kind == "values":
                state = item
        evidence = state.get("evidence", ())
        if evidence:
            yield Case(question, expected, state["plan"], evidence)


def try_model(
    settings: Settings, environ: Mapping[str, str], name: str, cases: Sequence[Case]
) -> Trial:
    """Let the model ``name`` grade all cases; a failure that would come again ends its trial."""
    trial = Trial(name)
    provider, mark, model = name.partition("=")
    update: dict[str, object] = {"model": model if mark else name, "small_model": ""}
    update["fallback_models"] = ()
    if mark:
        update["provider"] = provider
        if provider != settings.reasoning.provider:
            update["base_url"] = ""
    reasoning = settings.reasoning.model_copy(update=update)
    try:
        reasoner = make_llm_reasoner(settings.model_copy(update={"reasoning": reasoning}), environ)
        if reasoner is None:
            trial.problem = "No provider is set; name one as PROVIDER=MODEL."
            return trial
        with reasoner:
            for case in cases:
                try:
                    grade(reasoner, case, trial, settings.reasoning.max_calls)
                except ProviderError as error:
                    trial.verdicts.append(error.kind)
                    trial.problem = str(error)
                    if not error.retryable:
                        return trial
    except ProviderError as error:
        trial.problem = str(error)
    return trial


def grade(reasoner: LlmReasoner, case: Case, trial: Trial, max_calls: int) -> None:
    """Add one verdict to ``trial``."""
    meter = CallMeter(max_calls)
    turn = Turn(case.question, (), CancelToken(), meter)
    started = time.perf_counter()
    try:
        check = reasoner.grade(turn, case.plan, case.evidence)
    finally:
        trial.seconds.append(time.perf_counter() - started)
        trial.calls += meter.calls
        trial.input_tokens += meter.input_tokens
        trial.output_tokens += meter.output_tokens
        known = trial.cost_usd is not None and meter.cost_usd is not None
        trial.cost_usd = (trial.cost_usd or 0) + (meter.cost_usd or 0) if known else None
    if check.reason == UNREADABLE_VERDICT:
        trial.verdicts.append("unreadable")
        return
    trial.read += 1
    word = "yes" if check.sufficient else "no"
    trial.verdicts.append(f"{word} {len(check.relevant)}/{len(case.evidence)}")
    if case.expected is not None:
        trial.judged += 1
        trial.right += check.sufficient == case.expected


def report(trials: Sequence[Trial], cases: Sequence[Case]) -> str:
    """The table in Markdown, the questions above and the problems below."""
    lines = []
    for number, case in enumerate(cases, start=1):
        wanted = {True: "yes", False: "no", None: "not known"}[case.expected]
        size = sum(len(item.text) for item in case.evidence)
        lines.append(
            f"Q{number} {case.question} (right: {wanted}; {len(case.evidence)} passages, "
            f"{size} characters)"
        )
    heads = [f"Q{number}" for number in range(1, len(cases) + 1)]
    columns = ["model", "read", "right", "median s", "slowest s", "calls", "tokens in/out", "USD"]
    lines += ["", row([*columns, *heads]), row(["---"] * (len(columns) + len(heads)))]
    lines += [row([*cells(trial, len(cases)), *verdicts(trial, len(cases))]) for trial in trials]
    problems = [f"{trial.model}: {trial.problem}" for trial in trials if trial.problem]
    return "\n".join(lines + ([""] if problems else []) + problems)


def cells(trial: Trial, cases: int) -> list[str]:
    """What stands before the verdicts in the row of a model."""
    timed = bool(trial.seconds)
    return [
        trial.model,
        f"{trial.read}/{cases}",
        f"{trial.right}/{trial.judged}",
        f"{statistics.median(trial.seconds):.2f}" if timed else "–",
        f"{max(trial.seconds):.2f}" if timed else "–",
        str(trial.calls),
        f"{trial.input_tokens}/{trial.output_tokens}",
        "unknown" if trial.cost_usd is None else f"{trial.cost_usd:.5f}",
    ]


def verdicts(trial: Trial, cases: int) -> list[str]:
    """The verdicts, with a dash for each case that was not reached."""
    return [*trial.verdicts, *["–"] * (cases - len(trial.verdicts))]


def row(values: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def as_json(trials: Sequence[Trial], cases: Sequence[Case]) -> str:
    """The same as one JSON object."""
    asked = [
        {"question": case.question, "sufficient": case.expected, "passages": len(case.evidence)}
        for case in cases
    ]
    return json.dumps({"questions": asked, "models": [vars(item) for item in trials]}, indent=1)


if __name__ == "__main__":
    sys.exit(main())
