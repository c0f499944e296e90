"""LogFacts: one line a node of what it found; each line opens to the detail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from rag.agent.events import (
    AnyPayload,
    GradePayload,
    Payload,
    PlanPayload,
    RankedChunk,
    ReformulatePayload,
    RerankPayload,
    RespondPayload,
    RetrievePayload,
    SynthesizePayload,
    VerifyPayload,
)
from rag.ui.escape import milliseconds, shorten, text

PayloadT = TypeVar("PayloadT", bound=Payload)

_NOTHING = '<p class="dim">Nothing to show.</p>'
_ROUTES: Mapping[str, str] = {
    "catalogue": "About the library itself: no search needed",
    "smalltalk": "Small talk: no search needed",
    "clarify": "Asked back, no search yet",
    "invalid": "Not a question that can be searched",
}
_RESPONSES: Mapping[str, str] = {
    "catalogue": "Answered from the catalogue",
    "smalltalk": "Answered without a search",
    "clarify": "Asked for the missing part",
}


@dataclass(frozen=True)
class LogFacts:
    """What the log draws: findings with their pass, times and statuses by stage."""

    payloads: tuple[tuple[int, AnyPayload], ...]
    times: Mapping[str, float | None]
    statuses: Mapping[str, str]
    written: int
    ended: bool
    broken: bool

    def found(self, kind: type[PayloadT]) -> list[tuple[int, PayloadT]]:
        """All findings of one kind with their pass."""
        return [(number, item) for number, item in self.payloads if isinstance(item, kind)]


def render_log(facts: LogFacts, headline: str) -> str:
    """The log; ``data-open="wide"`` lets the page's script open it where there is room."""
    rows = [
        _row(facts, "plan", "Plan", *_plan(facts)),
        _row(facts, "retrieve", "Search", *_retrieve(facts)),
        _row(facts, "rerank", "Rerank", *_rerank(facts)),
        _row(facts, "grade", "Grade", *_grade(facts)),
        _row(facts, "synthesize", "Write", *_write(facts)),
        _row(facts, "verify", "Verify", *_verify(facts)),
    ]
    return (
        f'<details class="log" data-key="log" data-open="wide"><summary>{text(headline)}</summary>'
        f'<div class="rows">{"".join(rows)}</div></details>'
    )


def _row(facts: LogFacts, stage: str, label: str, line: str, detail: str) -> str:
    spent = facts.times.get(stage)
    if spent is None and stage == "synthesize":
        spent = facts.times.get("respond")
    time = milliseconds(spent) if spent is not None else ""
    waiting = "not reached" if facts.ended else "…"
    if facts.statuses.get(stage) == "skipped" and not facts.broken:
        waiting = "not needed"
    shown = line or f'<span class="dim">{waiting}</span>'
    return (
        f'<details class="lrow" data-key="row-{stage}"><summary><span class="w">{label}</span>'
        f'<span class="what">{shown}</span><span class="t">{time}</span></summary>'
        f'<div class="detail">{detail or _NOTHING}</div></details>'
    )


def _queries(queries: tuple[str, ...], limit: int = 80) -> str:
    return " ".join(f'<span class="q">{text(shorten(query, limit))}</span>' for query in queries)


def _plan(facts: LogFacts) -> tuple[str, str]:
    found = facts.found(PlanPayload)
    if not found:
        return "", ""
    plan = found[-1][1]
    if plan.route in _ROUTES:
        return _ROUTES[plan.route], _paragraph(plan.note)
    kind = "Compound: " if plan.is_compound else "Simple: "
    detail = "".join(f"<li>{text(query)}</li>" for query in plan.sub_queries)
    return (
        kind + _queries(plan.sub_queries),
        f"<p>Worked on: {text(plan.question)}</p><ol>{detail}</ol>{_paragraph(plan.note)}",
    )


def _told(passes: list[tuple[int, str]]) -> str:
    """What each pass found, on one line; a single pass needs no number."""
    if len(passes) == 1:
        return passes[0][1]
    return ' <span class="slash">/</span> '.join(
        f'<span class="pno">pass {number}:</span> {words}' for number, words in passes
    )


def _retrieve(facts: LogFacts) -> tuple[str, str]:
    found = facts.found(RetrievePayload)
    if not found:
        return "", ""
    lines = []
    for number, item in found:
        searches = item.searches
        dense = sum(search.abstracts + search.passages for search in searches)
        many = f"{len(searches)} searches: " if len(searches) > 1 and len(found) == 1 else ""
        lines.append(
            (
                number,
                f'{many}<span class="d">{dense} by meaning</span>, '
                f'<span class="b">{sum(search.keyword for search in searches)} by words</span> → '
                f'<span class="f">pool of {sum(search.fused for search in searches)}</span>',
            )
        )
    body = "".join(
        f'<tr><td class="l">{text(shorten(search.sub_query, 120))}</td><td>{number}</td>'
        f"<td>{search.abstracts}</td><td>{search.passages}</td><td>{search.keyword}</td>"
        f"<td>{search.found_by_both}</td><td>{search.fused}</td></tr>"
        for number, item in found
        for search in item.searches
    )
    head = _head("Query", "Pass", "Abstracts", "Passages", "BM25", "In both", "Pool")
    why = (
        "<p>A pool holds what either search found, each passage once, and passages of papers that "
        "match as a whole; it is cut at a fixed size, so its parts need not add up.</p>"
    )
    return _told(lines), _table("Candidates of each search", head, body) + why


def _rerank(facts: LogFacts) -> tuple[str, str]:
    found = facts.found(RerankPayload)
    if not found:
        return "", ""
    last = found[-1][1]
    # The same passage may be scored for two queries: what is kept is counted in passages.
    line = _told(
        [(number, f"{item.kept} of {_passages(item)} passages kept") for number, item in found]
    )
    dropped: dict[str, int] = {}
    for _, item in found:
        for reason, number in item.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + number
    reasons = ", ".join(
        f"{reason.replace('_', ' ')} ({number})"
        for reason, number in sorted(dropped.items(), key=lambda entry: -entry[1])
    )
    if reasons:
        line += f"; dropped: {text(reasons)}"
    floored = sum(item.floored for _, item in found)
    if floored:
        line += f"; {floored} hand-picked raised to the bar"
    if last.degraded:
        line = f'<span class="pill warn">reranking off</span> {text(last.degraded)}'
    bars = f"<p>{text(last.reranker or 'No reranker')}."
    if last.bar is not None and last.strict_bar is not None:
        bars += (
            f" The bars judge relevance: {last.bar:.2f} for the first fusion ranks, "
            f"{last.strict_bar:.2f} for the later ones."
        )
    bars += f" Dropped: {text(reasons)}.</p>" if reasons else "</p>"
    tables = "".join(
        _table(
            f"Pass {number}: candidates in the order of relevance",
            _RANKED_HEAD,
            _ranked(item.chunks),
        )
        for number, item in found
        if item.chunks
    )
    return line, bars + tables


def _passages(item: RerankPayload) -> int:
    return item.kept + sum(item.dropped.values())


def _ranked(chunks: tuple[RankedChunk, ...]) -> str:
    def cell(value: object, kind: str) -> str:
        return f'<td class="{kind}">{"–" if value is None else value}</td>'

    rows = []
    for chunk in chunks:
        page = f", p. {chunk.page_start}" if chunk.page_start else ""
        relevance = None if chunk.score_relevance is None else f"{chunk.score_relevance:.2f}"
        score = None if chunk.score_rerank is None else f"{chunk.score_rerank:.2f}"
        fate = "kept" if chunk.kept else text((chunk.drop_reason or "dropped").replace("_", " "))
        if chunk.floored:
            fate += ", raised"
        rows.append(
            f'<tr class="{"kept" if chunk.kept else "cut"}"><td class="l">'
            f"{text(shorten(chunk.title, 90))}"
            f"<small>{text(shorten(chunk.section, 50))}{page}</small></td>"
            f"{cell(chunk.rank_dense, 'd')}{cell(chunk.rank_bm25, 'b')}"
            f"{cell(chunk.rank_fused, 'f')}{cell(score, 'k')}{cell(relevance, 'r')}"
            f"<td>{fate}</td></tr>"
        )
    return "".join(rows)


def _grade(facts: LogFacts) -> tuple[str, str]:
    found = facts.found(GradePayload)
    if not found:
        return "", ""
    retries = dict(facts.found(ReformulatePayload))
    lines, details = [], []
    for number, item in found:
        pill = (
            '<span class="pill ok">✓ enough</span>'
            if item.sufficient
            else '<span class="pill warn">✗ not enough</span>'
        )
        missing = "; ".join(item.missing_elements)
        tail = f" {text(shorten(item.reason, 160))}"
        if not item.sufficient:
            tail = f" missing: {text(shorten(missing, 90))}" if missing else ""
        lines.append((number, pill + tail))
        best = (
            f" Evidence score {item.best_score:.2f} (is the library about this at all?)."
            if item.best_score is not None
            else ""
        )
        open_parts = f" Missing: {text(missing)}." if missing else ""
        details.append(
            f"<p><b>Pass {number}</b> {pill} {text(item.reason.rstrip('.'))}. "
            f"{item.relevant} relevant, {item.irrelevant} not.{best}{open_parts}</p>"
            f"{_retry(retries.get(number), facts)}"
        )
    return _told(lines), "".join(details)


def _retry(item: ReformulatePayload | None, facts: LogFacts) -> str:
    """The step from one pass to the next, told where the grade sent it."""
    if item is None:
        return ""
    if not item.sub_queries:
        return f"<p>No other words left to try. {text(item.note)}</p>"
    spent = facts.times.get("reformulate")
    took = f" ({milliseconds(spent)})" if spent is not None else ""
    note = f" {text(item.note)}" if item.note else ""
    return f"<p><b>Reformulate</b>{took} {_queries(item.sub_queries, 200)}{note}</p>"


def _write(facts: LogFacts) -> tuple[str, str]:
    drafts = facts.found(SynthesizePayload)
    if drafts:
        item = drafts[-1][1]
        line = f"Written from {_count(item.papers_cited, 'paper')}"
        if item.route == "refusal":
            line = "Declined: the library does not cover this"
        removed = (
            f"<p>{_count(item.invalid_citations, 'citation')} of a source that does not exist "
            "was removed.</p>"
            if item.invalid_citations
            else ""
        )
        return line, f"<p>Written only from the kept passages.</p>{removed}"
    responded = facts.found(RespondPayload)
    if responded:
        route = responded[-1][1].route
        return _RESPONSES.get(route, "Answered without a search"), ""
    return (f"{facts.written} characters so far" if facts.written else ""), ""


def _verify(facts: LogFacts) -> tuple[str, str]:
    found = facts.found(VerifyPayload)
    if not found:
        return "", ""
    item = found[-1][1]
    if not item.supported + item.partly + item.unsupported:
        return "No claim to check", ""
    line = f"{item.supported} supported, {item.partly} partly, {item.unsupported} not"
    doubtful = "".join(
        f"<li><b>{'partly' if sentence.support == 'partly' else 'not supported'}</b>: "
        f"{text(sentence.text)} <i>{text(sentence.reason)}</i></li>"
        for sentence in item.sentences
        if sentence.support in {"partly", "not"}
    )
    return (
        line,
        f"<ul>{doubtful}</ul>" if doubtful else "<p>Every claim was found in its passage.</p>",
    )


def _count(number: int, one: str) -> str:
    return f"{number} {one if number == 1 else one + 's'}"


def _paragraph(words: str) -> str:
    return f"<p>{text(words)}</p>" if words else ""


def _head(*names: str) -> str:
    return "".join(
        f'<th scope="col"{" class=l" if place == 0 else ""}>{name}</th>'
        for place, name in enumerate(names)
    )


_RANKED_HEAD = _head("Passage", "Dense", "BM25", "Fused", "Rerank", "Relevance", "Fate")


def _table(caption: str, head: str, body: str) -> str:
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        "</table></div>"
    )
