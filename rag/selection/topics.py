"""Topics: the 20 areas of the library, and the papers picked by hand for each."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from rag.errors import InvalidSettingError
from rag.papers import Library, Paper, load_papers


class HandPicked(BaseModel):
    """An id with the title that was meant, so that a wrong id is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str


class Topic(BaseModel):
    """One area of the library."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slug: str
    name: str
    hand_picked: tuple[HandPicked, ...] = ()


def read_topics(path: Path) -> list[Topic]:
    """The topics of ``topics.toml``; raises ``InvalidSettingError`` when unusable."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return [Topic.model_validate(entry) for entry in data["topic"]]
    except (OSError, LookupError, TypeError, ValueError):  # pydantic and tomllib raise ValueErrors
        raise InvalidSettingError(f"The topics file {path.name} is missing or damaged.") from None


def catalogue(corpus_dir: Path) -> Library:
    """Facts about the papers of the library: the manifest where it exists, and the hand-picked
    papers of the topics that it lacks."""
    picked = [
        Paper(paper_id=entry.id, title=entry.title, topic=topic.name, tier="hand_picked")
        for topic in read_topics(corpus_dir / "topics.toml")
        for entry in topic.hand_picked
    ]
    manifest = corpus_dir / "manifest.json"
    return Library([*picked, *(load_papers(manifest) if manifest.is_file() else [])])
