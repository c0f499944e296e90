"""Queries: cleaned, compared, and built without a model when it brings none."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag.reasoning.protocol import InformationCheck, QueryPlan

MAX_SUB_QUERIES = 3

_MAX_QUERY_CHARACTERS = 300
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_WORD = re.compile(r"\w+(?:[.+-]\w+)*")
_COMMON = re.compile(
    r"(?:a|an|and|are|as|at|be|by|can|could|did|do|does|for|from|had|has|have|how|i|in|into|is|it"
    r"|its|me|my|of|on|or|please|should|tell|than|that|the|their|them|these|this|those|to|us"
    r"|was|we|were|what|when|where|which|who|whose|why|will|with|would|you|your|about|explain"
    r"|describe)",
    re.IGNORECASE,
)


def clean_queries(queries: Iterable[str]) -> tuple[str, ...]:
    """At most three different, non-empty queries without bullets."""
    found: dict[str, str] = {}
    for query in queries:
        text = _BULLET.sub("", query).strip().strip("\"'").strip()[:_MAX_QUERY_CHARACTERS]
        if folded(text):
            found.setdefault(folded(text), text)
    return tuple(found.values())[:MAX_SUB_QUERIES]


def folded(query: str) -> str:
    """``query`` as it is compared: words only, without case and punctuation."""
    return " ".join(_WORD.findall(query.casefold()))


def own_queries(plan: QueryPlan, check: InformationCheck, known: set[str]) -> QueryPlan:
    """New queries without a model: the missing elements with the question's own words."""
    words = [word for word in _WORD.findall(plan.question) if not _COMMON.fullmatch(word)]
    missing = " ".join(check.missing_elements)
    candidates = clean_queries([f"{missing} {' '.join(words)}", missing, " ".join(words)])
    fresh = [query for query in candidates if folded(query) not in known]
    return QueryPlan(
        question=plan.question,
        sub_queries=tuple(fresh[:1] or candidates[:1] or plan.sub_queries),
        is_compound=plan.is_compound,
        note="The model brought no new query; built from what is missing."
        if fresh
        else "There is no new query to try.",
    )
