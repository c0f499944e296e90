"""Settings: one frozen tree feeds environment variables, sliders, docs and run records.

Every knob has a default, bounds, a unit, a description and the source of its number. Knobs with
``per_request=True`` may be sent with one question; they are checked against the same bounds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from rag.errors import InvalidSettingError
from rag.knobs import Knob, Section, describe_tree, knob
from rag.sections import (
    AgentSettings,
    FetchingSettings,
    IndexingSettings,
    ReasoningSettings,
    RerankingSettings,
    RetrievalSettings,
    ServingSettings,
)


class Settings(BaseSettings):
    """The whole tree. Environment: ``RAG_<SECTION>__<NAME>``, e.g. ``RAG_RETRIEVAL__KEEP=6``;
    a blank variable means the default.

    Raises ``InvalidSettingError`` through ``load_settings`` with one sentence per bad value.
    """

    model_config = SettingsConfigDict(
        env_prefix="RAG_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
    )

    data_dir: Path = knob(Path("data"), "Everything written at run time lies under this folder.")
    index: Path | None = knob(None, "Folder of a built index; empty: the starter library.")
    corpus_dir: Path = knob(Path("corpus"), "Manifest, topics and starter library.")
    indexing: IndexingSettings = IndexingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    reranking: RerankingSettings = RerankingSettings()
    agent: AgentSettings = AgentSettings()
    reasoning: ReasoningSettings = ReasoningSettings()
    fetching: FetchingSettings = FetchingSettings()
    serving: ServingSettings = ServingSettings()

    def with_overrides(self, overrides: Mapping[str, object]) -> Settings:
        """These settings with per-request values such as ``{"retrieval.keep": 6}``.

        Raises ``InvalidSettingError`` for an unknown name, one that may not be sent with a
        question, or a value outside its bounds.
        """
        if not overrides:
            return self
        allowed = {item.name for item in describe_knobs() if item.per_request}
        tree = self.model_dump()
        for name, value in overrides.items():
            if name not in allowed:
                raise InvalidSettingError(f"“{name[:60]}” is not a setting of a question.")
            section, key = name.split(".")
            tree[section][key] = value
        sections: dict[str, Section] = {}
        for name in sorted({name.split(".")[0] for name in overrides}):
            try:
                sections[name] = type(getattr(self, name)).model_validate(tree[name])
            except ValidationError as error:
                raise InvalidSettingError(one_sentence(error, name)) from None
        return self.model_copy(update=sections)

    def fingerprint(self) -> str:
        """Short hash of everything that can change an answer (not paths, hosts or limits)."""
        tree = self.model_dump(
            mode="json", include={"indexing", "retrieval", "reranking", "agent", "reasoning"}
        )
        return short_hash(tree)


def describe_knobs() -> list[Knob]:
    """All knobs of the settings tree in order."""
    return describe_tree(Settings)


def one_sentence(error: ValidationError, section: str = "") -> str:
    """A pydantic error as one plain sentence that shows no more than name and rule.

    ``section`` is the section that was validated alone, "" for the whole tree.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(str(part) for part in (*([section] if section else []), *first["loc"]))
    return f"The setting “{name}” is not usable: {first['msg']}."


def short_hash(value: object) -> str:
    """Twelve hex digits of the SHA-256 of a JSON value in canonical form."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


def _unknown_variables(environment: Mapping[str, str]) -> Iterator[str]:
    known = {item.env for item in describe_knobs()}
    sections = {name.upper() for name in Settings.model_fields}
    for name in environment:
        upper = name.upper()
        if upper.startswith("RAG_") and upper not in known and upper[4:] not in sections:
            yield name


def load_settings(**values: Any) -> Settings:
    """Settings from the environment, ``values`` first.

    Raises ``InvalidSettingError`` with one sentence when a value is unusable or when a ``RAG_``
    variable is unknown (a typo must not be silently ignored). The well-known bare name
    ``LLM_PROVIDER`` sets ``reasoning.provider``.
    """
    unknown = sorted(_unknown_variables(os.environ))
    if unknown:
        raise InvalidSettingError(f"The environment variable {unknown[0]} is not a known setting.")
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise InvalidSettingError(one_sentence(error)) from None
    except SettingsError as error:
        section = re.search(r'field "(\w+)"', str(error))
        raise InvalidSettingError(
            f"A RAG_ variable of “{section[1] if section else 'the settings'}” is not usable: "
            'lists and whole sections are written as JSON, for example ["a", "b"].'
        ) from None
    provider = os.environ.get("LLM_PROVIDER", "").strip()
    if provider and not settings.reasoning.provider:
        reasoning = settings.reasoning.model_copy(update={"provider": provider})
        settings = settings.model_copy(update={"reasoning": reasoning})
    return settings


def secret_from_environment(name: str) -> SecretStr | None:
    """A key from the environment, wrapped so that no log or repr shows it; None when blank."""
    value = os.environ.get(name, "").strip()
    return SecretStr(value) if value and value.lower() not in {"null", "none"} else None
