"""What an answer of the arXiv API holds."""

from __future__ import annotations

import pytest
from stub_arxiv import Answer, Entry, error_entry, feed, web_page

from rag.selection import atom
from rag.selection.atom import parse_page
from rag.selection.records import PaperRecord

ABSTRACT = " ".join(f"Sentence {number} on H_2O & <b> “gauges”." for number in range(20))


def page(*entries: Entry, total: int | None = None) -> str:
    return feed(entries, len(entries) if total is None else total)


def test_texts_broken_over_lines_become_single_lines():
    """C28."""
    title = "A  Long\n  Title:\n Sub & More"
    text = page(Entry("2301.00001", title, ABSTRACT, ("Ann  Ray ", "Bo Lim, Jr. ")))
    assert "Sub &amp;" in text and "\n" in text.split("<title>")[2].split("</title>")[0]
    (record,) = parse_page(text).records
    assert record == PaperRecord(
        "2301.00001",
        "A Long Title: Sub & More",
        ("Ann Ray", "Bo Lim, Jr."),
        "2023-01-03",
        ("cs.LG", "cs.CL"),
        ABSTRACT,
        "v1",
    )


@pytest.mark.parametrize(
    ("paper_id", "versions"), [("cs/0112017", 1), ("math.GT/0309136", 2), ("2301.00001", 13)]
)
def test_ids_of_old_and_new_style_lose_their_version_to_a_field(paper_id, versions):
    (record,) = parse_page(page(Entry(paper_id, "T", versions=versions))).records
    assert (record.paper_id, record.version) == (paper_id, f"v{versions}")


@pytest.mark.parametrize(
    ("published", "day"),
    [
        ("2023-01-03T10:11:12Z", "2023-01-03"),
        ("2023-01-03T23:30:00-05:00", "2023-01-04"),
        ("2023-01-03T00:00:00", "2023-01-03"),
        ("2023-01-01T00:00:00Z", "2023-01-01"),
        ("yesterday", None),
        ("", None),
    ],
)
def test_the_day_of_the_first_version(published, day):
    (record,) = parse_page(page(Entry("2301.00001", "T", published=published))).records
    assert record.published == day


def test_the_first_category_is_the_primary_one():
    text = page(Entry("2301.00001", "T", categories=("cs.CL", "cs.LG", "stat.ML")))
    text = text.replace('<arxiv:primary_category term="cs.CL"/>', "")
    text = text.replace("</entry>", '<arxiv:primary_category term="stat.ML"/></entry>')
    assert parse_page(text).records[0].categories == ("stat.ML", "cs.CL", "cs.LG")


@pytest.mark.parametrize(
    ("comment", "abstract", "withdrawn"),
    [
        ("This paper has been withdrawn by the authors", "We study it.", True),
        ("9 pages", "This paper has been\nwithdrawn by the author.", True),
        ("9 pages", "We study how the paper money was withdrawn from use.", False),
        (None, "We study it.", False),
    ],
)
def test_a_withdrawal_is_said_by_the_comment_or_the_abstract(comment, abstract, withdrawn):
    entry = Entry("2301.00001", "T", abstract, versions=2, comment=comment)
    assert parse_page(page(entry)).records[0].withdrawn is withdrawn


def test_totals_are_those_of_the_whole_search():
    assert parse_page(page(Entry("2301.00001", "T"), total=700)).total == 700
    text = page(Entry("2301.00001", "T"), total=700)
    assert parse_page(text.replace(">700<", "><")).total == 1
    assert parse_page(text.replace(">700<", ">many<")).total == 1


def test_an_empty_page_is_not_one_of_entries_without_facts():
    empty = parse_page(page(total=9))
    assert (empty.records, empty.total, empty.empty) == ((), 9, True)
    blank = "<entry><title/></entry><entry><id>http://arxiv.org/abs/x</id><title>T</title></entry>"
    unknown = parse_page(page(total=2).replace("</feed>", blank + "</feed>"))
    assert (unknown.records, unknown.total, unknown.empty) == ((), 2, False)


def test_missing_facts_are_empty_never_invented():
    text = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/2301.00001</id>'
        "<title>T</title><summary> \n </summary><author><name> </name></author><category/></entry>"
        "</feed>"
    )
    assert parse_page(text).records == (PaperRecord("2301.00001", "T"),)


@pytest.mark.parametrize("name", ["../../etc/passwd", "2301.00001/../../x", "%2e%2e%2fx", ""])
def test_what_is_no_id_is_no_record(name):
    assert parse_page(page(Entry(name, "T"), Entry("2301.00001", "T"))).records == (
        parse_page(page(Entry("2301.00001", "T"))).records
    )


def test_an_error_entry_is_the_services_own_complaint():
    text = error_entry("incorrect id  format\n for <x>")(Answer()).body.decode()
    answer = parse_page(text)
    assert answer.records == ()
    assert answer.error == "incorrect id format for <x>"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Rate exceeded.",
        page(Entry("2301.00001", "T"))[:-30],
        page(Entry("2301.00001", "T"))[:300],
        web_page()(Answer()).body.decode(),
        "<html><body>Welcome</body></html>",
        "<feed/>",
        '<rss xmlns="http://www.w3.org/2005/Atom"/>',
        page(Entry("2301.00001", "T")).replace("A", "\x00"),
        page().replace("</feed>", "&unknown;</feed>"),
        page().replace(">0<", f">{'9' * 5000}<"),
    ],
)
def test_what_is_no_feed_is_said_so(text):
    with pytest.raises(ValueError):
        parse_page(text)


def test_entities_are_not_expanded(monkeypatch):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n' + page(
        Entry("2301.00001", "T")
    ).split("\n", 1)[1].replace("<title>T", "<title>&b;")
    for text in (bomb, " " * 3000 + bomb, "<!-- " + "x" * 3000 + " -->" + bomb):
        with pytest.raises(ValueError, match="not an Atom feed"):
            parse_page(text)
    monkeypatch.setattr(atom, "LARGEST_ANSWER", 100)
    with pytest.raises(ValueError, match="not an Atom feed"):
        parse_page(page(Entry("2301.00001", "T")))


def test_an_abstract_may_speak_of_entities():
    (record,) = parse_page(page(Entry("2301.00001", "T", "On <!DOCTYPE> and <!ENTITY x>."))).records
    assert record.abstract == "On <!DOCTYPE> and <!ENTITY x>."
