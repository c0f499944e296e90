"""Selector: from the records of a source to the papers of the library, with every reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from rag.papers import Paper, Tier, fold_title
from rag.selection.gates import Gatekeeper, Reason
from rag.selection.keywords import LEAST_SCORE, KeywordMatch, TopicKeywords, best_matches
from rag.selection.records import PaperRecord, join_records
from rag.selection.source import PaperSource
from rag.selection.title_check import TitleCheck, check_title
from rag.selection.topics import SelectionPlan, Topic


@dataclass(frozen=True)
class Candidate:
    """A paper that a search found, without its abstract, and where it matches."""

    record: PaperRecord
    matches: tuple[KeywordMatch, ...]

    @property
    def best(self) -> KeywordMatch:
        """The match with the highest score."""
        return self.matches[0]


@dataclass(frozen=True)
class Rejection:
    """Why a candidate is out, counted for the topic it matches best."""

    reason: Reason
    topic: str
    note: str = ""


@dataclass
class Selection:
    """The chosen papers and what became of every other record; counts always add up.

    ``seen`` is how many papers the source knows; ``unmatched`` of them match no search phrase.
    """

    papers: list[Paper] = field(default_factory=list)
    titles: list[TitleCheck] = field(default_factory=list)
    rejected: dict[str, Rejection] = field(default_factory=dict)
    matched: dict[str, KeywordMatch] = field(default_factory=dict)
    seen: int = 0
    unmatched: int = 0

    @property
    def counts(self) -> Counter[tuple[str, Reason]]:
        """(topic, reason) -> number of rejected candidates."""
        return Counter((entry.topic, entry.reason) for entry in self.rejected.values())

    @property
    def wrong_titles(self) -> list[TitleCheck]:
        """Hand-picked entries that are not in the library since their id is not the paper meant."""
        return [check for check in self.titles if not check.passed]


def select_papers(
    plan: SelectionPlan, excluded: Mapping[str, str], source: PaperSource
) -> Selection:
    """Choose the library: hand-picked papers first, then the best matches up to each quota.

    The result does not depend on the order of the source's records. Candidates rank by: named in
    ``prefer``; score; newest month; id. A paper goes to the topic it matches best that has room.
    """
    chooser = _Chooser(plan, Gatekeeper.of(plan.gates, excluded), once=source.once)
    for record in source.records(plan.topic):
        chooser.take(record)
    return chooser.finish()


class _Chooser:
    """One selection under way."""

    def __init__(self, plan: SelectionPlan, gatekeeper: Gatekeeper, *, once: bool) -> None:
        self.once = once
        self.passed_by = 0
        self.plan = plan
        self.gatekeeper = gatekeeper
        self.keywords = [TopicKeywords.of(topic, place) for place, topic in enumerate(plan.topic)]
        self.picked = {entry.id: topic for topic in plan.topic for entry in topic.hand_picked}
        self.pieces: dict[str, list[PaperRecord]] = {}
        self.matches: dict[str, tuple[KeywordMatch, ...]] = {}
        self.found: dict[str, PaperRecord] = {}
        self.candidates: dict[str, Candidate] = {}
        self.result = Selection()

    def take(self, record: PaperRecord) -> None:
        """Keep a record; a paper may come in several pieces (versions, cross-lists)."""
        paper_id = record.paper_id
        if paper_id not in self.picked:
            matches = _joined(self.matches.get(paper_id, ()), best_matches(record, self.keywords))
            if not matches and self.once:
                self.passed_by += 1
                return
            self.matches[paper_id] = matches
        # An abstract of one blank still says that there is one, and costs no memory.
        slim = replace(record, abstract=record.abstract and " ")
        self.pieces.setdefault(paper_id, []).append(slim)

    def finish(self) -> Selection:
        """Fill the topics."""
        result = self.result
        whole = {paper_id: _whole(pieces) for paper_id, pieces in self.pieces.items()}
        self.found = {paper_id: whole[paper_id] for paper_id in self.picked if paper_id in whole}
        self.candidates = {
            paper_id: Candidate(whole[paper_id], matches)
            for paper_id, matches in self.matches.items()
            if matches
        }
        result.seen = len(whole) + self.passed_by
        result.unmatched = len(self.matches) - len(self.candidates) + self.passed_by
        room = {topic.slug: topic.quota for topic in self.plan.topic}
        taken: set[str] = set()
        self._take_hand_picked(room, taken)
        self._fill(room, taken)
        result.papers.sort(key=lambda paper: paper.paper_id)
        return result

    def _take_hand_picked(self, room: dict[str, int], taken: set[str]) -> None:
        for topic in self.plan.topic:
            for entry in topic.hand_picked:
                record = self.found.get(entry.id)
                check = check_title(entry, record)
                self.result.titles.append(check)
                if record is None or not check.passed:
                    continue
                barred = self.gatekeeper.barred(record)
                if barred is not None:
                    self._reject(entry.id, barred, topic)
                    continue
                self._choose(record, topic, "hand_picked", room, taken, entry.names)

    def _fill(self, room: dict[str, int], taken: set[str]) -> None:
        waiting: dict[str, list[KeywordMatch]] = {}
        for paper_id, candidate in self.candidates.items():
            self.result.matched[paper_id] = candidate.best
            allowed, reason = self._passing(candidate)
            if allowed:
                waiting[paper_id] = allowed
            else:
                assert reason is not None
                self._reject(paper_id, reason, candidate.best.topic)
        for paper_id, match in self._ranked(waiting):
            record = self.candidates[paper_id].record
            if paper_id not in waiting or room[match.topic.slug] <= 0:
                continue
            del waiting[paper_id]
            if (fold_title(record.title) or record.title) in taken:
                self._reject(paper_id, Reason.DUPLICATE, match.topic)
            else:
                self.result.matched[paper_id] = match
                self._choose(record, match.topic, "fill", room, taken)
        for paper_id in waiting:
            self._reject(paper_id, Reason.QUOTA, self.candidates[paper_id].best.topic)

    def _passing(self, candidate: Candidate) -> tuple[list[KeywordMatch], Reason | None]:
        """The matches behind which every gate is open, or the first reason of the best match."""
        record = candidate.record
        reasons = [
            self.gatekeeper.rejected(record, match.topic)
            or (
                Reason.WEAK_MATCH
                if match.score < LEAST_SCORE and record.paper_id not in match.topic.prefer
                else None
            )
            for match in candidate.matches
        ]
        passing = [
            match for match, why in zip(candidate.matches, reasons, strict=True) if why is None
        ]
        return passing, reasons[0]

    def _ranked(
        self, waiting: Mapping[str, Sequence[KeywordMatch]]
    ) -> Iterator[tuple[str, KeywordMatch]]:
        pairs = [(paper_id, match) for paper_id, matches in waiting.items() for match in matches]

        def key(pair: tuple[str, KeywordMatch]) -> tuple[bool, int, int, str, int]:
            paper_id, match = pair
            return (
                paper_id not in match.topic.prefer,
                -match.score,
                -_month_number(self.candidates[paper_id].record.published),
                paper_id,
                match.place,
            )

        yield from sorted(pairs, key=key)

    def _choose(
        self,
        record: PaperRecord,
        topic: Topic,
        tier: Tier,
        room: dict[str, int],
        taken: set[str],
        names: tuple[str, ...] = (),
    ) -> None:
        room[topic.slug] -= 1
        taken.add(fold_title(record.title) or record.title)
        self.result.papers.append(replace(paper_of_record(record, topic, tier), names=names))

    def _reject(self, paper_id: str, reason: Reason, topic: Topic) -> None:
        note = self.gatekeeper.excluded.get(paper_id, "") if reason is Reason.EXCLUDED else ""
        self.result.rejected[paper_id] = Rejection(reason, topic.slug, note)


def _whole(pieces: Sequence[PaperRecord]) -> PaperRecord:
    """One record of the pieces, newest version first, whatever order they came in."""
    ranked = sorted(pieces, key=lambda piece: (-piece.version_number, repr(piece)))
    return reduce(join_records, ranked)


def _joined(known: Sequence[KeywordMatch], new: Sequence[KeywordMatch]) -> tuple[KeywordMatch, ...]:
    """The better match of each topic, best first."""
    by_topic: dict[str, KeywordMatch] = {}
    for match in (*new, *known):
        held = by_topic.get(match.topic.slug)
        if held is None or (match.score, match.phrases) > (held.score, held.phrases):
            by_topic[match.topic.slug] = match
    return tuple(sorted(by_topic.values(), key=lambda match: match.rank))


def _month_number(published: str | None) -> int:
    """202301 for "2023-01-05": dates are compared by month, as precise as the snapshot is."""
    digits = (published or "").replace("-", "")[:6]
    return int(digits.ljust(6, "0")) if digits else 0


def paper_of_record(record: PaperRecord, topic: Topic, tier: Tier) -> Paper:
    """The manifest's facts of a record.

    A first version names no version: its number says nothing about later ones in a source that
    lists first versions only.
    """
    return Paper(
        paper_id=record.paper_id,
        title=record.title,
        authors=record.authors,
        published=record.published,
        categories=record.categories,
        topic=topic.name,
        tier=tier,
        version=record.version if record.version_number > 1 else None,
    )
