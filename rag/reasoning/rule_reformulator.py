"""Reformulating without a model: acronyms, and terms that the best passages suggest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan
from rag.retrieval.lexicon import Lexicon
from rag.retrieval.terms import STOP_WORDS, terms

FEEDBACK_TERMS = 4
FEEDBACK_PASSAGES = 3


def reformulate_by_rules(
    plan: QueryPlan,
    check: InformationCheck,
    tried: Sequence[str],
    evidence: Sequence[Evidence],
    lexicon: Lexicon,
) -> QueryPlan:
    """Up to two queries that were not tried: with acronyms spelled out (or shortened), and with
    the missing elements plus pseudo-relevance terms (Rocchio's idea, Lavrenko & Croft 2001)."""
    seen = {query.casefold().strip(" ?.") for query in tried}
    wanted = lexicon.content_terms(plan.question)
    ideas = [
        swap_acronyms(plan.question, lexicon),
        " ".join([*check.missing_elements, *_feedback(wanted, evidence, lexicon)]),
        " ".join(wanted),
    ]
    fresh: list[str] = []
    for idea in ideas:
        if idea.strip() and idea.casefold().strip(" ?.") not in seen and idea not in fresh:
            fresh.append(idea)
    note = "spelled out acronyms and followed terms of the best passages"
    return replace(plan, sub_queries=tuple(fresh[:2]), note=note)


def swap_acronyms(question: str, lexicon: Lexicon) -> str:
    """The question with known acronyms spelled out, or known long forms shortened; "" for none."""
    words = question.rstrip("?. ").split()
    changed = False
    spelled: list[str] = []
    for word in words:
        long_form = lexicon.acronyms.get(word.strip("?,.()\"'“”").casefold())
        spelled.append(f"{word} ({long_form})" if long_form else word)
        changed = changed or bool(long_form)
    if changed:
        return " ".join(spelled)
    lowered = question.casefold()
    for short, long_form in lexicon.acronyms.items():
        if long_form in lowered:
            return f"{question.rstrip('?. ')} {short.upper()}"
    return ""


def _feedback(wanted: Sequence[str], evidence: Sequence[Evidence], lexicon: Lexicon) -> list[str]:
    """Rare terms that several of the best passages share."""
    if not evidence:
        return []
    counts: Counter[str] = Counter()
    for item in evidence[:FEEDBACK_PASSAGES]:
        counts.update({term for term in terms(item.text) if term.isalpha() and len(term) > 3})
    known = set(wanted) | STOP_WORDS
    scored = [
        (count * lexicon.rarity(term), term)
        for term, count in counts.items()
        if term not in known and lexicon.rarity(term) > 2.0
    ]
    return [
        term for _, term in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:FEEDBACK_TERMS]
    ]
