"""Citations: passage numbers of the writer -> paper numbers of the answer, while it streams.

The writer cites passages ``[n]`` as they were numbered for it. The reader sees papers numbered
from 1 in order of first use. An invented number is removed and counted, never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rag.reasoning.protocol import Evidence

_OPEN = "[【"
_GROUP = re.compile(
    r"[\[【]\s*\^?(?:passages?|sources?|refs?\.?)?\s*(\d{1,3}(?:\s*(?:[,;]|and|&|-|–)\s*\^?\d{1,3})*)\s*(?:†[^\]】]*)?[\]】]",
    re.I,
)
_RANGE = re.compile(r"(\d{1,3})\s*[-–]\s*(\d{1,3})")
# Longer bracketed text is not a citation, so holding it back would only delay the stream.
_LONGEST_GROUP = 48


@dataclass(frozen=True)
class Mark:
    """A citation in the answer: where it stands, the paper's number, and the passages meant."""

    start: int
    end: int
    number: int
    passages: tuple[int, ...]


@dataclass
class CitationStream:
    """Turns the writer's pieces into the reader's text; numbers are final when emitted.

    ``numbers`` maps paper id to its number in order of first use; ``marks`` are all citations
    with offsets into the text emitted so far; ``invalid`` counts removed numbers.
    """

    evidence: Sequence[Evidence]
    numbers: dict[str, int] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    invalid: int = 0
    text: str = ""
    _held: str = ""

    def feed(self, piece: str) -> str:
        """Take a piece of the writer's text; returns what may be shown now."""
        self._held += piece
        shown = ""
        while self._held:
            cut = self._safe_length()
            if cut:
                shown += self._emit(self._held[:cut])
                self._held = self._held[cut:]
                continue
            match = _GROUP.match(self._held.lstrip(" "))
            blanks = len(self._held) - len(self._held.lstrip(" "))
            if match is None:
                if self._may_still_close():
                    break
                shown += self._emit(self._held[: blanks + 1])
                self._held = self._held[blanks + 1 :]
            elif blanks + match.end() == len(self._held):
                # A further group may follow and repeat this paper: wait for one more piece.
                break
            else:
                run = self._run_of_groups()
                if run is None:
                    break
                shown += self._cite(self._held[:run])
                self._held = self._held[run:]
        return shown

    def finish(self) -> str:
        """The end of the writer's text: what was held back."""
        shown = ""
        while self._held:
            run = self._run_of_groups(final=True)
            if run:
                shown += self._cite(self._held[:run])
                self._held = self._held[run:]
            else:
                cut = self._safe_length() or 1
                shown += self._emit(self._held[:cut])
                self._held = self._held[cut:]
        return shown

    def _safe_length(self) -> int:
        """Characters before the next possible citation, the blanks in front of it included in it."""
        places = [place for place in (self._held.find(char) for char in _OPEN) if place >= 0]
        stop = min(places) if places else len(self._held)
        while stop and self._held[stop - 1] == " ":
            stop -= 1
        return stop

    def _may_still_close(self) -> bool:
        tail = self._held.lstrip(" ")
        return len(tail) < _LONGEST_GROUP and not any(char in tail for char in "]】\n")

    def _run_of_groups(self, final: bool = False) -> int | None:
        """Length of the citations at the front, blanks between them included; None to wait."""
        position = 0
        last = 0
        while True:
            blanks = position
            while blanks < len(self._held) and self._held[blanks] == " ":
                blanks += 1
            match = _GROUP.match(self._held, blanks)
            if match is None:
                break
            position = last = match.end()
        rest = self._held[last:].lstrip(" ")
        undecided = not rest or (
            rest[0] in _OPEN and len(rest) < _LONGEST_GROUP and "]" not in rest and "】" not in rest
        )
        if undecided and not final:
            return None
        return last or (None if not final else 0)

    def _cite(self, run: str) -> str:
        passages: list[int] = []
        for match in _GROUP.finditer(run):
            passages += list(expand_numbers(match.group(1)))
        valid = {item.n: item for item in self.evidence}
        self.invalid += sum(number not in valid for number in passages)
        by_paper: dict[str, list[int]] = {}
        for number in passages:
            if number in valid:
                cited = by_paper.setdefault(valid[number].paper_id, [])
                if number not in cited:
                    cited.append(number)
        shown = ""
        for paper_id, cited in by_paper.items():
            number = self.numbers.setdefault(paper_id, len(self.numbers) + 1)
            start = len(self.text)
            blank = "" if not self.text or self.text[-1] in " \n(" else " "
            shown += self._emit(f"{blank}[{number}]")
            self.marks.append(Mark(start + len(blank), len(self.text), number, tuple(cited)))
        return shown

    def _emit(self, text: str) -> str:
        self.text += text
        return text


def expand_numbers(group: str) -> Iterator[int]:
    """The numbers of ``"1, 3"`` or ``"2-4"``; a range wider than 20 is taken as its two ends."""
    for part in re.split(r"\s*(?:[,;]|and|&)\s*", group):
        match = _RANGE.fullmatch(part.strip().lstrip("^"))
        if match:
            low, high = int(match.group(1)), int(match.group(2))
            yield from range(low, high + 1) if 0 <= high - low <= 20 else (low, high)
        elif part.strip().lstrip("^").isdigit():
            yield int(part.strip().lstrip("^"))
