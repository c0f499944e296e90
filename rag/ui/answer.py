"""Answer: what the reader came for, from the first token to the verified whole."""

from __future__ import annotations

from collections.abc import Mapping

from rag.results import NearestPaper, Result
from rag.ui.escape import link, milliseconds, shorten, text
from rag.ui.markup import Marks, render_blocks

_TEACHING_ROUTES = frozenset({"refusal"})
_PLAIN_ROUTES = frozenset({"catalogue", "smalltalk", "clarify", "invalid", "error"})


def render_answer(
    text_so_far: str,
    result: Result | None,
    *,
    topics: Mapping[str, int] | None = None,
    running: bool = False,
    waiting: bool = False,
    stopped: bool = False,
) -> str:
    """The answer as HTML: the text so far while ``result`` is None, everything once it is there."""
    if result is not None:
        return _card(_finished(result, topics or {}), busy=False)
    if not text_so_far:
        if stopped:
            return _card('<p class="dim">Stopped before anything was written.</p>', busy=False)
        if waiting or running:
            bars = "".join(f'<span style="width:{width}%"></span>' for width in (94, 88, 97, 62))
            note = '<p class="dim">Waiting for a free place…</p>' if waiting else ""
            return _card(f'{note}<div class="skeleton" aria-hidden="true">{bars}</div>', busy=True)
        return '<article class="answer idle" aria-label="Answer"></article>'
    by = (
        '<span class="pill">stopped · not verified</span>'
        if stopped
        else '<span class="pill">writing…</span>'
    )
    body = (
        f'<div class="by">{by}</div><div class="text">{render_blocks(text_so_far, Marks())}</div>'
    )
    return _card(body, busy=running and not stopped)


def render_problem(message: str) -> str:
    """A failure outside a result as one calm line."""
    return _card(_notice("Not finished", message), busy=False)


def _card(body: str, *, busy: bool) -> str:
    state = str(busy).lower()
    return f'<article class="answer" aria-label="Answer" aria-busy="{state}">{body}</article>'


def _finished(result: Result, topics: Mapping[str, int]) -> str:
    if result.route == "error" or result.error is not None:
        message = result.error.message if result.error else "The question could not be finished."
        retry = " You can ask again." if result.error and result.error.retryable else ""
        return _notice("Not finished", message + retry) + _kept_text(result)
    if result.route == "invalid":
        return _notice("Nothing to search for", result.answer or "Please ask a question in words.")
    titles = {item.n: item.title for item in result.citations}
    body = render_blocks(result.answer, Marks(result.sentences, titles))
    parts = [f'<div class="by">{"".join(_pills(result))}</div>']
    if result.route in _TEACHING_ROUTES:
        parts.append('<h2 class="refused">The library does not cover this</h2>')
    parts.append(f'<div class="text">{body}</div>')
    parts.append(_legend(result))
    if result.missing_elements and result.route not in _TEACHING_ROUTES | _PLAIN_ROUTES:
        missing = "; ".join(result.missing_elements)
        parts.append(f'<div class="miss"><b>Not in the evidence:</b> {text(missing)}</div>')
    if result.degraded is not None:
        parts.append(
            f'<p class="degraded">{text(result.degraded.provider)} was not available '
            f"({text(result.degraded.reason)}), so this was put together without it.</p>"
        )
    if result.route in _TEACHING_ROUTES:
        parts.append(_teach(result, topics))
    return "".join(parts)


def _kept_text(result: Result) -> str:
    """What was written before the failure stays readable, marked as unchecked."""
    if not result.answer:
        return ""
    body = render_blocks(result.answer, Marks(titles={}))
    by = '<div class="by"><span class="pill">incomplete · not verified</span></div>'
    return f'{by}<div class="text">{body}</div>'


def _notice(title: str, message: str) -> str:
    return f'<div class="notice"><b>{text(title)}.</b> {text(message)}</div>'


def _pills(result: Result) -> list[str]:
    pills = [_pill(_author(result))]
    checked = [item for item in result.sentences if item.support != "none"]
    if checked:
        good = sum(item.support == "supported" for item in checked)
        sign, kind = ("✓ ", "ok") if good == len(checked) else ("", "warn")
        claims = "claim" if len(checked) == 1 else "claims"
        pills.append(_pill(f"{sign}{good} of {len(checked)} {claims} verified", kind))
    facts = []
    if result.passes:
        facts.append(f"{result.passes} {'pass' if result.passes == 1 else 'passes'}")
    total = result.timings_ms.get("total")
    if total is not None:
        facts.append(milliseconds(total))
    if result.cost_usd is None:
        facts.append("cost not reported")
    elif result.llm_calls:
        facts.append(f"${result.cost_usd:.4f}")
    if facts:
        pills.append(_pill(" · ".join(facts)))
    return pills


def _author(result: Result) -> str:
    if result.route == "catalogue":
        return "from the catalogue · no search"
    if result.reasoner == "extractive" or not result.model:
        return "extractive · no language model"
    return result.model


def _pill(words: str, kind: str = "") -> str:
    return f'<span class="pill {kind}">{text(words)}</span>'


def _legend(result: Result) -> str:
    kinds = {item.support for item in result.sentences}
    shown = []
    if "partly" in kinds:
        shown.append('<span><span class="s partly">dotted</span> only partly supported</span>')
    if "not" in kinds:
        shown.append('<span><span class="s not">wavy</span> not supported by its source</span>')
    return f'<p class="legend">{" ".join(shown)}</p>' if shown else ""


def _teach(result: Result, topics: Mapping[str, int]) -> str:
    parts = []
    if result.nearest:
        bar = (
            f" A passage needs {result.bar:.2f} to count as evidence."
            if result.bar is not None
            else ""
        )
        rows = "".join(_nearest(item, result.bar) for item in result.nearest)
        parts.append(
            f"<h3>What came closest</h3><p class=dim>Scored by the reranker, 0 to 1.{bar}</p>"
            f"<ul class=nearest>{rows}</ul>"
        )
    if topics:
        chips = "".join(
            f"<li>{text(shorten(topic, 60))} <i>{number}</i></li>"
            for topic, number in topics.items()
        )
        parts.append(f"<h3>What the library covers</h3><ul class=topics>{chips}</ul>")
    return f'<div class="teach">{"".join(parts)}</div>' if parts else ""


def _nearest(paper: NearestPaper, bar: float | None) -> str:
    title = link(f"https://arxiv.org/abs/{paper.paper_id}", text(shorten(paper.title, 120)))
    topic = f"<small>{text(paper.topic)}</small>" if paper.topic else ""
    if paper.score is None:
        return f"<li><span>{title}{topic}</span></li>"
    width = max(0.0, min(1.0, paper.score)) * 100
    mark = f'<u style="left:{max(0.0, min(1.0, bar)) * 100:.0f}%"></u>' if bar is not None else ""
    return (
        f"<li><span>{title}{topic}</span>"
        f'<span class="meter" aria-hidden="true"><s style="width:{width:.0f}%"></s>{mark}</span>'
        f'<span class="num">{paper.score:.2f}</span></li>'
    )
