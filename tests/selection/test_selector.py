"""The selection: who is chosen, who is not and why, whatever order the records come in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rag.papers import fold_title
from rag.selection.gates import Gatekeeper, Reason
from rag.selection.keywords import LEAST_SCORE
from rag.selection.records import PaperRecord
from rag.selection.selector import Selection, paper_of_record, select_papers
from rag.selection.title_check import TitleFinding
from rag.selection.topics import Gates, HandPicked, SelectionPlan, Topic

GATES = Gates(categories=frozenset({"cs.LG", "cs.CL"}), title_blocklist=("clinical",))


@dataclass(frozen=True)
class ListSource:
    """Records from a list."""

    listed: Sequence[PaperRecord]
    name: str = "a list"
    once: bool = False

    def records(self, topics: Sequence[Topic]):
        return iter(self.listed)


def topic(slug: str, quota: int = 3, **values: Any) -> Topic:
    """A topic that looks for its own name in two categories."""
    facts = {"categories": ("cs.LG", "cs.CL"), "queries": (slug.removesuffix("s"),)} | values
    return Topic(slug=slug, name=slug.title(), quota=quota, **facts)


def picked(paper_id: str, title: str, *names: str) -> HandPicked:
    return HandPicked(id=paper_id, title=title, names=names)


def paper(number: int, title: str = "", **values: Any) -> PaperRecord:
    """A record that passes the gates; by default a widget paper with a title of its own."""
    facts = {"categories": ("cs.LG",), "abstract": "An abstract.", "published": "2023-01"} | values
    return PaperRecord(f"2301.{number:05d}", title or f"Widget {number}", **facts)


def choose(
    topics: Sequence[Topic], *records: PaperRecord, excluded: dict[str, str] | None = None
) -> Selection:
    plan = SelectionPlan(gates=GATES, topic=tuple(topics))
    return select_papers(plan, excluded or {}, ListSource(records))


def chosen(selection: Selection) -> dict[str, str | None]:
    """Number of the paper -> topic."""
    return {paper.paper_id.removeprefix("2301.000"): paper.topic for paper in selection.papers}


def reasons(selection: Selection) -> dict[str, Reason]:
    return {
        paper_id.removeprefix("2301.000"): entry.reason
        for paper_id, entry in selection.rejected.items()
    }


# Hand-picked papers.


def test_hand_picked_papers_need_no_keyword_no_category_and_no_abstract():
    topics = [topic("widgets", hand_picked=(picked("2301.00001", "On Presses", "PressNet"),))]
    bare = PaperRecord("2301.00001", "On Presses")
    (only,) = choose(topics, bare).papers
    assert (only.title, only.topic, only.tier, only.names) == (
        "On Presses",
        "Widgets",
        "hand_picked",
        ("PressNet",),
    )


def test_a_renamed_paper_is_kept_under_the_title_of_the_source():
    topics = [topic("widgets", hand_picked=(picked("2301.00001", "On Widgets and Gauges"),))]
    selection = choose(topics, paper(1, "On Widgets, Gauges and Levers"))
    assert [entry.title for entry in selection.papers] == ["On Widgets, Gauges and Levers"]
    assert [check.finding for check in selection.titles] == [TitleFinding.RENAMED]
    assert selection.wrong_titles == []


def test_an_id_of_another_paper_is_dropped_and_reported_and_not_found_by_keyword_either():
    topics = [
        topic(
            "widgets",
            hand_picked=(picked("2301.00001", "On Presses"), picked("2301.00002", "On Dials")),
        )
    ]
    selection = choose(topics, paper(1, "Widgets for Everyone"))
    assert selection.papers == []
    assert [(check.entry.id, check.finding) for check in selection.wrong_titles] == [
        ("2301.00001", TitleFinding.DIFFERENT),
        ("2301.00002", TitleFinding.MISSING),
    ]
    assert selection.rejected == {}
    assert selection.seen == 1


def test_excluded_and_withdrawn_bar_hand_picked_papers_too():
    """C30: a withdrawn paper is out with this reason, however it was found."""
    topics = [
        topic(
            "widgets",
            hand_picked=tuple(picked(f"2301.0000{n}", f"Widget {n}") for n in (1, 2, 3)),
        )
    ]
    selection = choose(
        topics,
        paper(1),
        paper(2, withdrawn=True),
        paper(3),
        paper(4, withdrawn=True),
        paper(5),
        excluded={"2301.00001": "a thesis", "2301.00005": "a poster"},
    )
    assert chosen(selection) == {"03": "Widgets"}
    assert reasons(selection) == {
        "01": Reason.EXCLUDED,
        "02": Reason.WITHDRAWN,
        "04": Reason.WITHDRAWN,
        "05": Reason.EXCLUDED,
    }
    assert selection.rejected["2301.00001"].note == "a thesis"
    assert selection.rejected["2301.00002"].note == ""
    assert selection.wrong_titles == []


def test_hand_picked_papers_count_towards_the_quota_and_may_exceed_it():
    hand = tuple(picked(f"2301.0000{n}", f"Widget {n}") for n in (1, 2, 3))
    records = [paper(number) for number in range(1, 8)]
    for quota, fill in ((5, 2), (3, 0), (2, 0), (0, 0)):
        selection = choose([topic("widgets", quota, hand_picked=hand)], *records)
        tiers = Counter(entry.tier for entry in selection.papers)
        assert tiers == Counter(hand_picked=3, fill=fill)
        assert Counter(reasons(selection).values()) == Counter({Reason.QUOTA: 4 - fill})


# Papers found by keyword.


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"categories": ()}, Reason.NO_CATEGORY),
        ({"categories": ("q-bio.NC",)}, Reason.OUTSIDE_FIELDS),
        ({"categories": ("cs.CL",)}, Reason.OUTSIDE_TOPIC),
        ({"abstract": None}, Reason.NO_ABSTRACT),
        ({"withdrawn": True}, Reason.WITHDRAWN),
        ({"title": "A Clinical Widget"}, Reason.BLOCKED_TITLE),
        ({"title": "Tools", "abstract": "A widget and a brass dial."}, Reason.WEAK_MATCH),
        ({"title": "Pressing the widgets"}, Reason.DUPLICATE),
    ],
)
def test_each_reason_is_counted_for_the_topic_that_matches_best(changes, reason):
    widgets = topic("widgets", categories=("cs.LG",), queries=("widget", "brass dial"))
    selection = choose(
        [topic("gauges"), widgets],
        paper(1, "Pressing the Widgets", published="2024-01"),
        replace(paper(2), **changes),
    )
    assert chosen(selection) == {"01": "Widgets"}
    assert reasons(selection) == {"02": reason}
    assert selection.counts == Counter({("widgets", reason): 1})


def test_a_paper_without_any_phrase_is_counted_and_nothing_more():
    selection = choose([topic("widgets")], paper(1, "Tools"), paper(2))
    assert (selection.seen, selection.unmatched) == (2, 1)
    assert chosen(selection) == {"02": "Widgets"}
    assert selection.rejected == {}


def test_several_phrases_of_the_abstract_are_enough():
    widgets = topic("widgets", queries=("widget", "dial", "press", "bench"))
    weak = paper(1, "Tools", abstract="Widget, dial.")
    strong = paper(2, "More Tools", abstract="Widget, dial, press.")
    selection = choose([widgets], weak, strong)
    assert chosen(selection) == {"02": "Widgets"}
    assert reasons(selection) == {"01": Reason.WEAK_MATCH}
    assert selection.matched["2301.00001"].score == LEAST_SCORE - 1


def test_preferred_papers_rank_first_and_pass_with_a_weak_match_but_behind_the_gates():
    known = frozenset({"2301.00008", "2301.00009", "2301.00007"})
    widgets = topic("widgets", 1, prefer=known)
    weak = paper(9, "Tools", abstract="A widget.", published="2013-01")
    selection = choose(
        [widgets],
        paper(1, published="2024-01"),
        weak,
        paper(8, "Clinical Widgets"),
        paper(7, "Dials"),
    )
    assert chosen(selection) == {"09": "Widgets"}
    assert reasons(selection) == {"01": Reason.QUOTA, "08": Reason.BLOCKED_TITLE}
    assert selection.unmatched == 1


def test_the_better_match_ranks_first_then_the_newest_month_then_the_id_and_never_the_day():
    wide = topic("widgets", 1, queries=("widget", "dial"))
    better = paper(9, "A Widget with a Dial", published="2013-01")
    newer = paper(8, published="2023-02")
    late_day = paper(7, published="2023-01-31")
    early_day = paper(6, published="2023-01-02")
    month_only = paper(5, published="2023-01")
    year_only = paper(2, published="2023")
    undated = paper(1, published=None)
    ranking = [better, newer, month_only, early_day, late_day, year_only, undated]
    for place, first in enumerate(ranking):
        for records in (ranking[place:], ranking[place:][::-1]):
            selection = choose([wide], *records)
            assert [entry.paper_id for entry in selection.papers] == [first.paper_id]


def test_a_paper_of_two_topics_is_taken_once_by_the_topic_it_matches_best():
    gauges = topic("gauges", queries=("gauge", "brass gauge"))
    selection = choose([topic("widgets"), gauges], paper(1, "Widgets and Brass Gauges"))
    assert chosen(selection) == {"01": "Gauges"}
    even = choose([topic("widgets"), topic("gauges")], paper(1, "Gauges and Widgets"))
    assert chosen(even) == {"01": "Widgets"}
    assert selection.seen == even.seen == 1


def test_a_paper_goes_to_its_next_topic_when_the_best_is_full_or_closed_to_it():
    both = paper(1, "Widgets and Gauges", published="2013-01")
    full = [topic("widgets", 1), topic("gauges", 1)]
    assert chosen(choose(full, both, paper(2))) == {"01": "Gauges", "02": "Widgets"}
    closed = [topic("widgets", categories=("cs.CL",)), topic("gauges")]
    selection = choose(closed, both)
    assert chosen(selection) == {"01": "Gauges"}
    assert selection.matched["2301.00001"].topic.slug == "gauges"


def test_a_paper_that_no_topic_has_room_for_is_rejected_for_the_quota():
    topics = [topic("widgets", 1), topic("gauges", 1)]
    selection = choose(
        topics,
        paper(1, "Widget and Gauge", published="2013-01"),
        paper(2, "Widget"),
        paper(3, "Gauge"),
    )
    assert chosen(selection) == {"02": "Widgets", "03": "Gauges"}
    assert reasons(selection) == {"01": Reason.QUOTA}


def test_a_second_paper_of_the_same_title_is_a_duplicate_and_takes_no_room():
    hand = (picked("2301.00001", "The Widget Press"),)
    selection = choose(
        [topic("widgets", 3, hand_picked=hand)],
        paper(1, "The Widget Press"),
        paper(2, "The widget-press", published="2024-01"),
        paper(3, "Widget Dials", published="2023-05"),
        paper(4, r"Widget \textit{Dials}", published="2023-04"),
        paper(5, "Widget Benches", published="2013-01"),
    )
    assert chosen(selection) == dict.fromkeys(["01", "03", "05"], "Widgets")
    assert reasons(selection) == {"02": Reason.DUPLICATE, "04": Reason.DUPLICATE}


def test_duplicate_titles_are_seen_across_topics():
    topics = [topic("widgets", 1), topic("gauges", 1)]
    twins = [paper(n, "Widgets and Gauges", published=f"2023-0{n}") for n in (1, 2)]
    selection = choose(topics, *twins)
    assert chosen(selection) == {"02": "Widgets"}
    assert reasons(selection) == {"01": Reason.DUPLICATE}


def test_titles_without_latin_letters_are_not_all_the_same():
    widgets = topic("widgets", queries=("widget", "dial", "press"))
    abstract = "Widget, dial, press."
    selection = choose(
        [widgets],
        paper(1, "论部件", abstract=abstract),
        paper(2, "另一篇", abstract=abstract),
        paper(3, "另一篇", abstract=abstract),
    )
    assert chosen(selection) == {"01": "Widgets", "02": "Widgets"}
    assert reasons(selection) == {"03": Reason.DUPLICATE}


def test_papers_are_ordered_by_id_and_carry_facts_only():
    record = PaperRecord(
        "cs/0112017",
        "A Widget",
        ("Ann Ray", "Bo Lim"),
        "2001-12",
        ("cs.LG", "cs.CL"),
        "A secret sentence.",
        "v2",
    )
    selection = choose([topic("widgets")], record, paper(2), paper(1))
    assert [entry.paper_id for entry in selection.papers] == [
        "2301.00001",
        "2301.00002",
        "cs/0112017",
    ]
    old = selection.papers[-1]
    assert (old.authors, old.published, old.categories, old.version, old.tier, old.holding) == (
        ("Ann Ray", "Bo Lim"),
        "2001-12",
        ("cs.LG", "cs.CL"),
        "v2",
        "fill",
        "metadata",
    )
    assert "secret" not in repr(selection)


@pytest.mark.parametrize(
    ("version", "kept"), [("v1", None), ("v2", "v2"), ("v10", "v10"), (None, None), ("v", None)]
)
def test_a_first_version_names_no_version(version, kept):
    assert paper_of_record(paper(1, version=version), topic("widgets"), "fill").version == kept


def test_a_source_without_records_and_a_plan_without_topics_choose_nothing():
    nothing = choose([topic("widgets")])
    assert (nothing.papers, nothing.seen, nothing.titles) == ([], 0, [])
    unplanned = choose([], paper(1))
    assert (unplanned.papers, unplanned.seen, unplanned.unmatched) == ([], 1, 1)


# One paper in several pieces.

PIECES = [
    paper(1, "A Widget", categories=("cs.LG",), version="v1"),
    paper(1, "A Better Widget", categories=("cs.LG",), version="v3"),
    paper(1, "A Widget", categories=("cs.LG",), version=None),
    paper(1, "A Widget", categories=("cs.LG", "cs.CL"), version=None),
]


@pytest.mark.parametrize("tier", ["fill", "hand_picked"])
@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_versions_and_cross_lists_are_one_paper(order, tier):
    """C27: one paper, the newest version's title, merged categories."""
    hand = (picked("2301.00001", "A Better Widget"),) if tier == "hand_picked" else ()
    selection = choose([topic("widgets", hand_picked=hand)], *[PIECES[place] for place in order])
    (only,) = selection.papers
    assert (only.paper_id, only.title, only.version, only.tier) == (
        "2301.00001",
        "A Better Widget",
        "v3",
        tier,
    )
    assert only.categories == ("cs.LG", "cs.CL")
    assert only.abs_url == "https://arxiv.org/abs/2301.00001v3"
    assert (selection.seen, selection.unmatched, selection.rejected) == (1, 0, {})


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_withdrawal_in_one_version_is_one_of_the_paper(order):
    """C30: the first version is no quiet substitute."""
    pieces = [paper(1, version="v1"), paper(1, version="v2", withdrawn=True)]
    selection = choose([topic("widgets")], *[pieces[place] for place in order])
    assert selection.papers == []
    assert reasons(selection) == {"01": Reason.WITHDRAWN}
    assert selection.seen == 1


# Whatever the records are.

PLAN = SelectionPlan(
    gates=GATES,
    topic=(
        topic(
            "widgets",
            2,
            queries=("widget", "dial"),
            prefer=frozenset({"2301.00004"}),
            hand_picked=(picked("2301.00000", "Tools"), picked("2301.00001", "A Widget")),
        ),
        topic("gauges", 2, categories=("cs.CL",), queries=("gauge", "dial", "widget")),
        topic("levers", 0),
    ),
)
EXCLUDED = {"2301.00001": "a thesis", "2301.00002": "a poster"}
TITLES = ["A Widget", "The Gauge", "Widgets and Gauges", "Dial", "Tools", "Clinical Dials", "中文"]
RECORDS = st.builds(
    paper,
    st.integers(0, 9),
    st.sampled_from(TITLES),
    abstract=st.sampled_from([None, "Widget, dial.", "A gauge, a dial and a widget.", "Tools."]),
    categories=st.sampled_from([("cs.LG",), ("cs.CL",), ("cs.LG", "cs.CL"), ("math.AG",), ()]),
    published=st.sampled_from(["2023-01-05", "2023-01-30", "2023-02", "2022", None]),
    version=st.sampled_from([None, "v1", "v2", "v3"]),
    withdrawn=st.sampled_from([False, False, False, True]),
)
ONCE_EACH = st.lists(RECORDS, max_size=10, unique_by=lambda record: record.paper_id)


def select(records: Sequence[PaperRecord]) -> Selection:
    return select_papers(PLAN, EXCLUDED, ListSource(records))


@given(st.lists(RECORDS, max_size=14))
def test_every_paper_is_counted_exactly_once(records):
    selection = select(records)
    ids = {record.paper_id for record in records}
    chosen_ids = [entry.paper_id for entry in selection.papers]
    wrong = [c.entry.id for c in selection.titles if c.finding is TitleFinding.DIFFERENT]
    assert selection.seen == len(ids)
    assert selection.seen == (
        len(chosen_ids) + len(selection.rejected) + len(wrong) + selection.unmatched
    )
    named = [*chosen_ids, *selection.rejected, *wrong]
    assert len(named) == len(set(named))
    assert set(named) <= ids
    assert sum(selection.counts.values()) == len(selection.rejected)
    assert len(selection.titles) == 2


@given(ONCE_EACH)
def test_the_chosen_keep_to_the_quotas_and_the_gates(records):
    selection = select(records)
    known = {record.paper_id: record for record in records}
    keeper = Gatekeeper.of(PLAN.gates, EXCLUDED)
    topics = {entry.name: entry for entry in PLAN.topic}
    sizes = Counter(entry.topic for entry in selection.papers)
    assert all(sizes[name] <= max(entry.quota, 2) for name, entry in topics.items())
    assert [entry.paper_id for entry in selection.papers] == sorted(
        entry.paper_id for entry in selection.papers
    )
    fill = [entry for entry in selection.papers if entry.tier == "fill"]
    for entry in fill:
        assert keeper.rejected(known[entry.paper_id], topics[entry.topic]) is None
        match = selection.matched[entry.paper_id]
        assert match.topic.name == entry.topic
        assert match.score >= LEAST_SCORE or entry.paper_id in match.topic.prefer
    folded = [fold_title(entry.title) or entry.title for entry in selection.papers]
    assert len(folded) == len(set(folded))
    for paper_id, rejection in selection.rejected.items():
        if rejection.reason is Reason.QUOTA:
            open_to = [t for t in PLAN.topic if keeper.rejected(known[paper_id], t) is None]
            best = selection.matched[paper_id].topic
            assert best not in open_to or sizes[best.name] >= best.quota


@given(ONCE_EACH.flatmap(lambda records: st.tuples(st.just(records), st.permutations(records))))
def test_the_order_of_the_records_does_not_matter(orders):
    first, second = orders
    assert select(first) == select(second)


def versions_of(records: Sequence[PaperRecord], version: str) -> list[PaperRecord]:
    return [replace(record, version=version) for record in records]


@given(
    ONCE_EACH.flatmap(
        lambda records: st.tuples(
            st.just(versions_of(records, "v2")),
            st.permutations(versions_of(records, "v2") + versions_of(records[::2], "v1")),
        )
    )
)
def test_older_versions_that_say_nothing_new_change_nothing(orders):
    whole, pieces = orders
    assert select(whole) == select(pieces)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_newest_title_is_shown_also_when_only_an_older_one_matches(order):
    pieces = [paper(5, "A Widget", version="v1"), paper(5, "Tools", version="v3")]
    selection = choose([topic("widgets")], *[pieces[place] for place in order])
    assert [(entry.title, entry.version) for entry in selection.papers] == [("Tools", "v3")]


def test_a_withdrawal_stands_also_when_that_version_matches_no_phrase():
    pieces = [paper(5, "Tools", version="v2", withdrawn=True), paper(5, "A Widget", version="v1")]
    assert reasons(choose([topic("widgets")], *pieces)) == {"05": Reason.WITHDRAWN}


@settings(derandomize=True, phases=(Phase.explicit, Phase.generate))
@given(
    st.lists(RECORDS, max_size=8).flatmap(
        lambda records: st.tuples(st.just(records), st.permutations(records))
    )
)
def test_the_order_of_the_pieces_does_not_matter(orders):
    first, second = orders
    assert select(first) == select(second)
