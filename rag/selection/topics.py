"""Topics: the areas of the library, what is searched for each, and the papers picked by hand."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rag.errors import InvalidSettingError
from rag.papers import Library, Paper, is_paper_id, load_papers

TOPICS_FILE = "topics.toml"
EXCLUDED_FILE = "excluded.json"
MANIFEST_FILE = "manifest.json"


class HandPicked(BaseModel):
    """An id with the title that was meant, so that a wrong id is noticed.

    ``names`` are what people call the paper's method, model or dataset ("LoRA").
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    names: tuple[str, ...] = ()


class Topic(BaseModel):
    """One area of the library.

    ``queries`` are phrases looked for in titles and abstracts; a paper found by them needs one of
    ``categories``. ``quota`` counts all papers of the topic, those picked by hand included.
    ``prefer`` names well-known papers that rank first where the search finds them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    slug: str
    name: str
    quota: int = Field(default=0, ge=0)
    categories: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    prefer: frozenset[str] = frozenset()
    hand_picked: tuple[HandPicked, ...] = ()


class Gates(BaseModel):
    """What a paper that was found by keyword must pass, whatever its topic."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    categories: frozenset[str] = frozenset()
    title_blocklist: tuple[str, ...] = ()


class SelectionPlan(BaseModel):
    """All of ``topics.toml``; an id may be picked by hand once only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gates: Gates = Gates()
    topic: tuple[Topic, ...]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        seen: set[str] = set()
        for topic in self.topic:
            for entry in topic.hand_picked:
                if entry.id in seen or not is_paper_id(entry.id):
                    raise ValueError(f"{entry.id} is picked twice or is no arXiv id")
                seen.add(entry.id)
        slugs, names = {t.slug for t in self.topic}, {t.name for t in self.topic}
        if min(len(slugs), len(names)) < len(self.topic):
            raise ValueError("two topics have the same slug or name")
        return self


def read_plan(corpus_dir: Path) -> SelectionPlan:
    """``topics.toml`` of a corpus folder; ``InvalidSettingError`` says what is wrong with it."""
    path = corpus_dir / TOPICS_FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return SelectionPlan.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "topic"
        raise InvalidSettingError(
            f"The topics file {path.name} is not usable ({place}: {first['msg']})."
        ) from None
    except (OSError, ValueError):  # tomllib and decoding raise ValueErrors
        raise InvalidSettingError(f"The topics file {path.name} is missing or damaged.") from None


def read_excluded(corpus_dir: Path) -> dict[str, str]:
    """Paper id -> why it was reviewed and left out; empty without the file.

    Raises ``InvalidSettingError`` when an entry lacks its id or its reason.
    """
    path = corpus_dir / EXCLUDED_FILE
    if not path.is_file():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        excluded = {str(entry["id"]): str(entry["reason"] or "").strip() for entry in entries}
    except (OSError, ValueError, LookupError, TypeError):
        raise InvalidSettingError(f"The exclude list {path.name} is damaged.") from None
    for paper_id, reason in excluded.items():
        if not is_paper_id(paper_id) or not reason:
            raise InvalidSettingError(
                f"The exclude list {path.name} needs an arXiv id and a reason in every entry "
                f"({paper_id or 'no id'})."
            )
    return excluded


def catalogue(corpus_dir: Path) -> Library:
    """Facts about the papers of the library: the manifest where it exists, and the hand-picked
    papers of the topics that it lacks."""
    picked = [
        Paper(
            paper_id=entry.id,
            title=entry.title,
            topic=topic.name,
            tier="hand_picked",
            names=entry.names,
        )
        for topic in read_plan(corpus_dir).topic
        for entry in topic.hand_picked
    ]
    manifest = corpus_dir / MANIFEST_FILE
    return Library([*picked, *(load_papers(manifest) if manifest.is_file() else [])])
