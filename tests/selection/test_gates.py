"""Gates: each reason why a paper that was found does not enter the library."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag.selection.gates import Gatekeeper, Reason
from rag.selection.records import PaperRecord
from rag.selection.topics import Gates, Topic

GATES = Gates(
    categories=frozenset({"cs.LG", "cs.CL", "cs.CV"}),
    title_blocklist=("clinical", "X-ray", "CT", "remote sensing", "Poincaré"),
)
TOPIC = Topic(slug="widgets", name="Widgets", categories=("cs.LG", "stat.ML"))
GOOD = PaperRecord(
    "2301.00001", "On Widgets", categories=("cs.LG", "cs.CL"), abstract="About widgets."
)
KEEPER = Gatekeeper.of(GATES, {"2301.00007": "a survey of surveys"})


def test_a_good_paper_passes():
    assert KEEPER.rejected(GOOD, TOPIC) is None
    assert KEEPER.barred(GOOD) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"paper_id": "2301.00007"}, Reason.EXCLUDED),
        ({"withdrawn": True}, Reason.WITHDRAWN),
        ({"abstract": None}, Reason.NO_ABSTRACT),
        ({"categories": ()}, Reason.NO_CATEGORY),
        ({"categories": ("q-bio.NC", "cs.LG")}, Reason.OUTSIDE_FIELDS),
        ({"categories": ("stat.ML",)}, Reason.OUTSIDE_FIELDS),
        ({"categories": ("cs.CV", "cs.CL")}, Reason.OUTSIDE_TOPIC),
        ({"title": "Clinical Widgets"}, Reason.BLOCKED_TITLE),
    ],
)
def test_each_gate_by_its_reason(changes, reason):
    assert KEEPER.rejected(replace(GOOD, **changes), TOPIC) is reason


def test_a_cross_list_opens_the_gate_of_the_topic_but_not_that_of_the_fields():
    assert KEEPER.rejected(replace(GOOD, categories=("cs.CV", "stat.ML")), TOPIC) is None
    assert KEEPER.rejected(replace(GOOD, categories=("stat.ML", "cs.CV")), TOPIC) is (
        Reason.OUTSIDE_FIELDS
    )


def test_a_topic_without_categories_takes_nothing_by_keyword():
    assert KEEPER.rejected(GOOD, Topic(slug="t", name="T")) is Reason.OUTSIDE_TOPIC


def test_the_first_gate_gives_the_reason():
    closed = replace(
        GOOD,
        paper_id="2301.00007",
        withdrawn=True,
        categories=(),
        title="Clinical Widgets",
        abstract=None,
    )
    reasons = []
    for opened in (
        {"paper_id": "2301.00001"},
        {"withdrawn": False},
        {"categories": ("q-bio.NC",)},
        {"categories": ("cs.CV",)},
        {"categories": ("cs.LG",)},
        {"title": "Widgets"},
        {"abstract": "Widgets."},
    ):
        reasons.append(KEEPER.rejected(closed, TOPIC))
        closed = replace(closed, **opened)
    assert reasons == [
        Reason.EXCLUDED,
        Reason.WITHDRAWN,
        Reason.NO_CATEGORY,
        Reason.OUTSIDE_FIELDS,
        Reason.OUTSIDE_TOPIC,
        Reason.BLOCKED_TITLE,
        Reason.NO_ABSTRACT,
    ]
    assert KEEPER.rejected(closed, TOPIC) is None


@pytest.mark.parametrize(
    ("title", "blocked"),
    [
        ("CLINICAL notes", True),
        ("Reading X-Rays", False),  # whole words only: list the plural too
        ("An X ray of Widgets", True),
        ("Widgets in CT: A Study", True),
        ("Remote-Sensing Widgets", True),
        ("Poincare Widgets", True),
        (r"Poincar\'e Widgets", True),
        ("Subclinical Widgets", False),
        ("Connecting Acts", False),
        ("Sensing Remote Widgets", False),
    ],
)
def test_blocked_words_are_folded_and_stand_as_whole_words(title, blocked):
    reason = KEEPER.rejected(replace(GOOD, title=title), TOPIC)
    assert reason is (Reason.BLOCKED_TITLE if blocked else None)


@pytest.mark.parametrize("blocklist", [(), ("",), ("?!",), ("医学",)])
def test_a_blocklist_without_words_blocks_nothing(blocklist):
    keeper = Gatekeeper.of(
        Gates(categories=GATES.categories, title_blocklist=blocklist), excluded={}
    )
    assert keeper.rejected(GOOD, TOPIC) is None


def test_signs_of_a_blocked_word_are_no_pattern():
    keeper = Gatekeeper.of(
        Gates(categories=GATES.categories, title_blocklist=("w.dgets", "(on")), excluded={}
    )
    assert keeper.rejected(replace(GOOD, title="Of Widgets"), TOPIC) is None
    assert keeper.rejected(replace(GOOD, title="W dgets"), TOPIC) is Reason.BLOCKED_TITLE


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"paper_id": "2301.00007"}, Reason.EXCLUDED),
        ({"paper_id": "2301.00007", "withdrawn": True}, Reason.EXCLUDED),
        ({"withdrawn": True}, Reason.WITHDRAWN),
        ({"categories": (), "abstract": None, "title": "Clinical"}, None),
    ],
)
def test_what_bars_a_paper_however_it_was_found(changes, reason):
    assert KEEPER.barred(replace(GOOD, **changes)) is reason
