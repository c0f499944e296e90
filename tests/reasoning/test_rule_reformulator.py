"""New queries without a model: never one that was tried."""

from __future__ import annotations

from rag.reasoning.protocol import InformationCheck, QueryPlan
from rag.reasoning.rule_reformulator import reformulate_by_rules, swap_acronyms

from .rule_bench import lexicon, passage

WORDS = lexicon({"dpo": "direct preference optimization"})
EVIDENCE = tuple(
    passage(n, f"Rewards and annotators rank answers; annotators disagree. Filler{n} words.")
    for n in (1, 2, 3)
)


def again(question: str, *missing: str, tried: tuple[str, ...] | None = None) -> tuple[str, ...]:
    check = InformationCheck(False, missing, (), "")
    plan = QueryPlan(question, (question,))
    found = reformulate_by_rules(
        plan, check, (question,) if tried is None else tried, EVIDENCE, WORDS
    )
    assert found.question == question
    return found.sub_queries


def test_acronyms_are_spelled_out_or_shortened() -> None:
    assert (
        swap_acronyms("How does DPO train?", WORDS)
        == "How does DPO (direct preference optimization) train"
    )
    assert swap_acronyms("How does direct preference optimization train?", WORDS).endswith(
        "train DPO"
    )
    assert swap_acronyms("How do nets train?", WORDS) == ""


def test_first_the_acronym_then_what_is_missing() -> None:
    first, second = again("How does DPO rank?", "reference policy")
    assert "direct preference optimization" in first
    assert second.startswith("reference policy")
    assert "annotators" in second and "rewards" in second
    assert "filler1" not in second


def test_what_was_tried_is_not_tried_again() -> None:
    question = "How does DPO rank?"
    tried: tuple[str, ...] = (question,)
    for _ in range(4):
        fresh = again(question, "policy", tried=tried)
        assert not {query.casefold() for query in fresh} & {query.casefold() for query in tried}
        assert len(fresh) == len(set(fresh)) <= 2
        tried += fresh
    assert again(question, "policy", tried=tried) == ()


def test_without_evidence_the_content_words_are_left() -> None:
    check = InformationCheck(False, (), (), "")
    plan = QueryPlan("How do hens nest?", ("How do hens nest?",))
    found = reformulate_by_rules(plan, check, plan.sub_queries, (), lexicon())
    assert found.sub_queries == ("hens nest",)
