"""ArxivApi: the arXiv API as a source of records, every answer kept on disk."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from urllib.parse import urlencode

import httpx

from rag.errors import SourceUnavailableError
from rag.papers import is_paper_id
from rag.sections import FetchingSettings
from rag.selection.atom import AtomPage, parse_page
from rag.selection.polite_client import PoliteClient, TransientError
from rag.selection.records import PaperRecord
from rag.selection.response_cache import ResponseCache
from rag.selection.topics import Topic
from rag.settings import Settings

logger = logging.getLogger(__name__)
CACHE_FOLDER = "arxiv-cache"


def open_arxiv_api(settings: Settings) -> ArxivApi:
    """The API as the settings say, with its cache in the data folder."""
    cache = ResponseCache(settings.data_dir / CACHE_FOLDER)
    return ArxivApi(settings.fetching, PoliteClient(settings.fetching), cache)


class ArxivApi:
    """Asks by id and by search phrase.

    Raises ``SourceUnavailableError`` when arXiv stays unusable; pages that came are kept, so the
    next run goes on where this one stopped.
    """

    name = "the arXiv API"
    once = False

    def __init__(
        self, settings: FetchingSettings, client: PoliteClient, cache: ResponseCache
    ) -> None:
        self._settings = settings
        self._client = client
        self._cache = cache

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def records(self, topics: Sequence[Topic]) -> Iterator[PaperRecord]:
        """The hand-picked papers, then what each search phrase of each topic finds."""
        yield from self.by_id([entry.id for topic in topics for entry in topic.hand_picked])
        for topic in topics:
            # Well-known papers are asked for by id: a search may rank them behind its last page.
            yield from self.by_id(sorted(topic.prefer))
            for phrase in topic.queries:
                logger.info("searching “%s” for %s", phrase, topic.slug)
                yield from self._search(search_query(phrase, topic.categories))

    def by_id(self, paper_ids: Sequence[str]) -> Iterator[PaperRecord]:
        """The records of these papers, newest versions; unknown ids are absent."""
        wanted = [paper_id for paper_id in dict.fromkeys(paper_ids) if is_paper_id(paper_id)]
        size = self._settings.page_size
        for start in range(0, len(wanted), size):
            part = wanted[start : start + size]
            page = self._page({"id_list": ",".join(part), "max_results": str(len(part))}, 0)
            yield from page.records

    def _search(self, query: str) -> Iterator[PaperRecord]:
        """All results of a search up to the limit, each once; versions that differ are joined by
        the reader."""
        seen: set[PaperRecord] = set()
        start, limit = 0, self._settings.results_per_query
        while start < limit:
            size = min(self._settings.page_size, limit - start)
            page = self._page({"search_query": query, "max_results": str(size)}, start)
            for record in page.records:
                if record not in seen:
                    seen.add(record)
                    yield record
            start += size
            limit = min(limit, page.total)

    def _page(self, parameters: dict[str, str], start: int) -> AtomPage:
        """One page, from the disk or from arXiv."""
        order = {"sortBy": "relevance", "sortOrder": "descending"}
        query = urlencode({**parameters, **order, "start": str(start)})
        url = f"{self._settings.api_url}?{query}"
        kept = self._cache.get(url)
        if kept is not None:
            with suppress(ValueError):  # a damaged file is asked for again
                return parse_page(kept)

        def read(response: httpx.Response) -> tuple[str, AtomPage]:
            return _usable(response, start)

        text, page = self._client.fetch(url, read)
        self._cache.put(url, text)
        return page


def search_query(phrase: str, categories: Sequence[str]) -> str:
    """The query for a phrase in title or abstract within some categories."""
    plain = " ".join(phrase.replace('"', " ").split())
    words = f'(ti:"{plain}" OR abs:"{plain}")'
    if not categories:
        return words
    return f"{words} AND ({' OR '.join(f'cat:{category}' for category in categories)})"


def _usable(response: httpx.Response, start: int) -> tuple[str, AtomPage]:
    """The text and its page; an answer that cannot be one is worth another try.

    arXiv answers 200 with an empty page now and then where results exist (lukasschwab/arxiv.py
    issue 43), and 200 with an error entry for a query that it does not understand.
    """
    response.read()
    if response.status_code >= 400:
        raise SourceUnavailableError(
            f"arXiv refused the request (HTTP {response.status_code}); nothing was kept of it."
        )
    try:
        page = parse_page(response.text)
    except ValueError as error:
        raise TransientError("the answer is not an Atom feed") from error
    if page.error is not None:
        raise SourceUnavailableError(f"arXiv does not accept the query: {page.error[:200]}")
    if page.empty and page.total > start:
        raise TransientError("an empty page where there are results")
    return response.text, page
