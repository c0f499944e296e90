"""Keywords: how well a paper matches a topic."""

from __future__ import annotations

import pytest

from rag.selection.keywords import SearchableText, TopicKeywords, best_matches
from rag.selection.records import PaperRecord
from rag.selection.topics import Topic


def keywords(*queries: str, slug: str = "topic", place: int = 0) -> TopicKeywords:
    return TopicKeywords.of(Topic(slug=slug, name=slug.title(), queries=queries), place)


def match(topic: TopicKeywords, title: str, abstract: str | None = None):
    return topic.match(SearchableText(PaperRecord("2301.00001", title, abstract=abstract)))


@pytest.mark.parametrize(
    ("title", "abstract", "score", "phrases"),
    [
        ("A Widget Press", None, 3, ("widget",)),
        ("Tools", "We press a widget.", 1, ("widget",)),
        ("Tools", "A widget and a brass gauge.", 2, ("widget", "brass gauge")),
        ("The Widget", "A widget, and a widget again.", 3, ("widget",)),
        ("The Widget and the Brass Gauge", "Both.", 6, ("widget", "brass gauge")),
        ("The Widget", "A brass gauge.", 4, ("widget", "brass gauge")),
    ],
)
def test_a_phrase_counts_once_in_the_title_or_else_in_the_abstract(title, abstract, score, phrases):
    found = match(keywords("widget", "brass gauge"), title, abstract)
    assert found is not None
    assert (found.score, found.phrases) == (score, phrases)


@pytest.mark.parametrize(
    "title",
    [
        "WIDGETS",
        "widgets: a survey",
        "On “Widgets”",
        "Widget-Driven Design",
        r"The \textbf{Widget}",
        "Ẃidgets",
    ],
)
def test_phrases_are_folded_and_found_with_their_plural(title):
    assert match(keywords("Widget"), title) is not None


@pytest.mark.parametrize("title", ["Widgetry", "Superwidget", "Wid get", "W", "Gauges", "!?"])
def test_part_of_a_word_is_no_match(title):
    assert match(keywords("widget"), title, title) is None


def test_hyphens_are_blanks_and_a_phrase_does_not_span_title_and_abstract():
    topic = keywords("pre-training")
    assert match(topic, "Pre-training of Widgets") is not None
    assert match(topic, "Pre training of Widgets") is not None
    assert match(topic, "Pretraining of Widgets") is None
    assert match(keywords("brass gauge"), "On Brass", "Gauge of all things") is None


def test_equal_and_empty_queries_count_once_and_never():
    topic = keywords("brass gauge", "Brass-Gauge", "", "?!")
    assert topic.phrases == ("brass gauge",)
    found = match(topic, "The Brass Gauge")
    assert found is not None
    assert found.score == 3
    assert match(keywords(), "The Brass Gauge") is None


def test_topics_are_ordered_by_score_and_then_by_the_plan():
    topics = [
        keywords("gauge", slug="gauges", place=0),
        keywords("widget", slug="widgets", place=1),
        keywords("lever", slug="levers", place=2),
        keywords("spring", slug="springs", place=3),
    ]
    record = PaperRecord("2301.00001", "A Lever and a Widget", abstract="A gauge.")
    found = best_matches(record, topics)
    assert [entry.topic.slug for entry in found] == ["widgets", "levers", "gauges"]
    assert [entry.place for entry in found] == [1, 2, 0]
    assert best_matches(PaperRecord("2301.00001", "Tools"), topics) == []
