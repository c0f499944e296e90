"""Lexicon: what the library's own words tell: how rare a term is, and what acronyms mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rag.retrieval.terms import stem, terms

# Words of questions that say how something is asked, not what about.
_ASKING_WORDS = """
differ difference differences compare compared comparing comparison versus vs better worse
best main idea exactly work works working way ways kind kinds type types reach reached
reaches achieve achieves achieved report reported reports show shows shown get gets give
gives given happen happens mean means meaning proposed propose proposes introduce introduced
introduces paper papers author authors many much long number numbers one two three first
second different several various example examples need needs make makes made come comes go
goes take takes help helps instead rather say says said find found want able try tries let
according
"""
ASKING_WORDS = frozenset(_ASKING_WORDS.split())


@dataclass(frozen=True)
class Lexicon:
    """Term statistics of one index. ``rarity`` is an inverse document frequency, 0 or more;
    ``acronyms`` maps short forms to long ones, all lower case."""

    rarity: Callable[[str], float]
    acronyms: Mapping[str, str]

    def content_terms(self, text: str) -> list[str]:
        """The terms that say what a text is about, each once, in order.

        The parts of a compound are left to the compound unless the library lacks it.
        """
        found: list[str] = []
        for term in dict.fromkeys(terms(text)):
            if term not in ASKING_WORDS and stem(term) not in {stem(item) for item in found}:
                found.append(term)
        return found

    def forms(self, term: str) -> set[str]:
        """Stems that count as a mention of ``term``: itself, and its long or short form."""
        found = {stem(term)}
        long_form = self.acronyms.get(term)
        if long_form:
            found.add(" ".join(stem(part) for part in terms(long_form)))
        return found

    def covered(self, wanted: Iterable[str], text: str) -> set[str]:
        """Which of the wanted terms the text mentions."""
        stems = [stem(term) for term in terms(text)]
        held = set(stems)
        joined = f" {' '.join(stems)} "
        return {
            term
            for term in wanted
            if any(
                form in held or (" " in form and f" {form} " in joined) for form in self.forms(term)
            )
        }

    def adds_nothing(self, query: str, question: str) -> bool:
        """Whether all content terms of ``query`` stand in ``question``, in any known form."""
        spelled = [self.acronyms[term] for term in terms(question) if term in self.acronyms]
        wanted = self.content_terms(query)
        return self.covered(wanted, " ".join([question, *spelled])) == set(wanted)

    def coverage(self, wanted: Iterable[str], text: str) -> float:
        """Share of the wanted terms' rarity that the text mentions, 0..1; 1 for no terms."""
        weights = {term: self.rarity(term) + 0.1 for term in wanted}
        total = sum(weights.values())
        if not total:
            return 1.0
        return sum(weights[term] for term in self.covered(weights, text)) / total
