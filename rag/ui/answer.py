"""Answer: what the reader came for, from the first token to the verified whole."""

from __future__ import annotations

from rag.results import Degraded, NearestPaper, Result
from rag.ui.escape import link, milliseconds, shorten, text
from rag.ui.markup import MISSING_WORDS, Marks, render_blocks

_TEACHING_ROUTES = frozenset({"refusal"})
_PLAIN_ROUTES = frozenset({"catalogue", "smalltalk", "clarify", "invalid", "error"})
_REFUSALS = ("The library does not cover this", "The selected papers do not cover this")
_WITHOUT_MODEL = "extractive · no language model"


def render_answer(
    text_so_far: str,
    result: Result | None,
    *,
    running: bool = False,
    waiting: bool = False,
    stopped: bool = False,
) -> str:
    """The answer as HTML: the text so far while ``result`` is None, everything once it is there."""
    if result is not None:
        return _card(_finished(result), busy=False)
    if not text_so_far:
        if stopped:
            return _card('<p class="dim">Stopped before anything was written.</p>', busy=False)
        if waiting or running:
            bars = "".join(f'<span style="width:{width}%"></span>' for width in (94, 88, 97, 62))
            note = '<p class="dim">Waiting for a free place…</p>' if waiting else ""
            return _card(f'<div class="skeleton" aria-hidden="true">{bars}</div>{note}', busy=True)
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


def reasoner_name(label: str) -> str:
    """How the page calls who plans, judges and writes."""
    return _WITHOUT_MODEL if label in {"", "extractive"} else label


def _card(body: str, *, busy: bool) -> str:
    state = str(busy).lower()
    return f'<article class="answer" aria-label="Answer" aria-busy="{state}">{body}</article>'


def _finished(result: Result) -> str:
    if result.route == "invalid":
        return _notice("Nothing to search for", result.answer or "Please ask a question in words.")
    if result.route == "error" or result.error is not None:
        message = result.error.message if result.error else "The question could not be finished."
        retry = " You can ask again." if result.error and result.error.retryable else ""
        return _notice("Not finished", message + retry) + _kept_text(result)
    titles = {item.n: item.title for item in result.citations}
    parts = [f'<div class="by">{"".join(_pills(result))}</div>']
    if result.route in _TEACHING_ROUTES:
        # The heading says it once; what the text adds to it stands under it.
        heading = next((one for one in _REFUSALS if result.answer.startswith(one)), _REFUSALS[0])
        parts.append(f'<h2 class="refused">{heading}</h2>')
        rest = result.answer.removeprefix(f"{heading}.").strip()
        body = render_blocks(rest, Marks(titles=titles))
    else:
        body = render_blocks(result.answer, Marks(result.sentences, titles))
    parts.append(f'<div class="text">{body}</div>')
    parts.append(_legend(result))
    told = f"\n{MISSING_WORDS}" in f"\n{result.answer}"
    if result.missing_elements and result.route not in _TEACHING_ROUTES | _PLAIN_ROUTES:
        missing = "; ".join(result.missing_elements)
        if not told:
            parts.append(f'<p class="miss"><b>{MISSING_WORDS}</b> {text(missing)}</p>')
    if result.degraded is not None:
        lacking = _without(result.degraded, by_llm=result.reasoner == "llm")
        parts.append(f'<p class="degraded">{lacking}</p>')
    if result.route in _TEACHING_ROUTES:
        parts.append(_closest(result))
    return "".join(parts)


def _without(degraded: Degraded, *, by_llm: bool) -> str:
    """One sentence about what was missing and what that means for this answer."""
    reason = text(degraded.reason.strip().rstrip("."))
    if by_llm and "reranker" not in degraded.provider.casefold():
        return f"The first language model did not answer ({reason}); another one did."
    if "reranker" in degraded.provider.casefold():
        return f"Without the reranker this time ({reason}): the order is that of the search."
    return f"Without a language model this time ({reason}): the sentences are the papers’ own."


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
    return reasoner_name(result.model or "" if result.reasoner != "extractive" else "")


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


def _closest(result: Result) -> str:
    """The papers that came closest, with their relevance and the bar that they had to clear."""
    if not result.nearest:
        return ""
    scores = [item.score for item in result.nearest if item.score is not None]
    told = "Relevance is calibrated, from 0 to 1."
    if result.bar is not None and scores:
        told += f" A passage needs {result.bar:.2f} to count as evidence."
        if max(scores) >= result.bar:
            told += " These were left out all the same: the library as a whole is not about this."
    # Relevance and bar of a refusal are small: the meter ends where both can be told apart.
    scale = min(1.0, max([3 * (result.bar or 0.0), *scores, 0.01]))
    rows = "".join(_nearest(item, result.bar, scale) for item in result.nearest)
    return (
        f'<div class="teach"><h3>What came closest</h3><p class="dim">{told}</p>'
        f'<ul class="nearest">{rows}</ul></div>'
    )


def _nearest(paper: NearestPaper, bar: float | None, scale: float) -> str:
    title = link(f"https://arxiv.org/abs/{paper.paper_id}", text(shorten(paper.title, 120)))
    topic = f"<small>{text(paper.topic)}</small>" if paper.topic else ""
    if paper.score is None:
        return f"<li><span>{title}{topic}</span></li>"
    mark = "" if bar is None else f'<u style="left:{_share(bar, scale):.0f}%"></u>'
    needed = "" if bar is None else f"<small>bar {bar:.2f}</small>"
    width = f"{_share(paper.score, scale):.0f}%"
    return (
        f"<li><span>{title}{topic}</span>"
        f'<span class="meter" aria-hidden="true"><s style="width:{width}"></s>{mark}</span>'
        f'<span class="num">relevance {paper.score:.2f}{needed}</span></li>'
    )


def _share(value: float, scale: float) -> float:
    return max(0.0, min(1.0, value / scale)) * 100
