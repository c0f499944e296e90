"""SelectionReport: what a selection chose and rejected, in counts, and one paper explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rag.papers import Paper
from rag.selection.gates import Reason
from rag.selection.selector import Selection
from rag.selection.title_check import TitleFinding
from rag.selection.topics import SelectionPlan


def report_lines(selection: Selection, plan: SelectionPlan, source_name: str) -> list[str]:
    """The report in Markdown: sums, a table of topics, a table of reasons, titles to look at."""
    tiers = Counter(paper.tier for paper in selection.papers)
    return [
        "# Selection",
        "",
        f"{len(selection.papers):,} papers from {source_name}: {tiers['hand_picked']:,} picked by "
        f"hand, {tiers['fill']:,} found by keyword.",
        "",
        f"{selection.seen:,} papers seen = {len(selection.papers):,} chosen + "
        f"{len(selection.rejected):,} rejected + {len(_dropped(selection)):,} with a wrong title "
        f"+ {selection.unmatched:,} that match no search phrase.",
        "",
        *_topic_table(selection, plan),
        "",
        *_reason_table(selection, plan),
        *_titles(selection),
    ]


def _dropped(selection: Selection) -> list[str]:
    return [check.entry.id for check in selection.titles if check.finding is TitleFinding.DIFFERENT]


def _topic_table(selection: Selection, plan: SelectionPlan) -> Iterator[str]:
    tiers = Counter((paper.topic, paper.tier) for paper in selection.papers)
    yield "| topic | quota | hand-picked | fill | years |"
    yield "|---|---:|---:|---:|---|"
    for topic in plan.topic:
        years = [
            paper.year for paper in selection.papers if paper.topic == topic.name and paper.year
        ]
        span = f"{min(years)}–{max(years)}" if years else "–"
        short = tiers[topic.name, "hand_picked"] + tiers[topic.name, "fill"] < topic.quota
        yield (
            f"| {topic.name}{' (short of its quota)' if short else ''} | {topic.quota} "
            f"| {tiers[topic.name, 'hand_picked']} | {tiers[topic.name, 'fill']} | {span} |"
        )


def _reason_table(selection: Selection, plan: SelectionPlan) -> Iterator[str]:
    counts = selection.counts
    reasons = [
        reason for reason in Reason if any(counts[topic.slug, reason] for topic in plan.topic)
    ]
    if not reasons:
        yield "No candidate was rejected."
        return
    yield "Rejected candidates, by the topic they match best:"
    yield ""
    yield "| reason | " + " | ".join(topic.slug for topic in plan.topic) + " | all |"
    yield "|---|" + "---:|" * (len(plan.topic) + 1)
    for reason in reasons:
        row = [counts[topic.slug, reason] for topic in plan.topic]
        yield f"| {reason} | " + " | ".join(map(str, row)) + f" | {sum(row)} |"


def _titles(selection: Selection) -> Iterator[str]:
    notable = [check for check in selection.titles if check.finding is not TitleFinding.SAME]
    if notable:
        yield ""
        yield "Titles of hand-picked papers to look at:"
        yield ""
        yield from (f"- {check.line()}" for check in notable)


def explain(paper_id: str, selection: Selection) -> str:
    """Why a paper is in the library or not, in a few sentences."""
    chosen: Paper | None = next(
        (paper for paper in selection.papers if paper.paper_id == paper_id), None
    )
    match = selection.matched.get(paper_id)
    found = (
        f" It matches {match.topic.slug} with score {match.score} ({', '.join(match.phrases)})."
        if match
        else ""
    )
    check = next((check for check in selection.titles if check.entry.id == paper_id), None)
    if chosen is not None:
        how = "picked by hand" if chosen.hand_picked else "found by keyword"
        title = f" Its title is {check.finding}." if check else ""
        return f"{paper_id} is in: {how} for “{chosen.topic}”.{title}{found}"
    rejection = selection.rejected.get(paper_id)
    if rejection is not None:
        note = f" ({rejection.note})" if rejection.note else ""
        return f"{paper_id} is out: {rejection.reason}{note}.{found}"
    if check is not None:
        return f"{paper_id} is out: picked by hand, but {check.line()}."
    return f"{paper_id} is out: the source does not hold it, or it matches no search phrase."
