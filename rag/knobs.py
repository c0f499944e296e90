"""Knobs: how a setting is declared, and how page, docs and ``.env.example`` see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.fields import FieldInfo


def knob(
    default: Any,
    description: str,
    *,
    ge: float | None = None,
    le: float | None = None,
    unit: str = "",
    source: str = "",
    per_request: bool = False,
) -> Any:
    """A field of a settings section with everything that the page and the docs show of it."""
    extra: dict[str, JsonValue] = {"unit": unit, "source": source, "per_request": per_request}
    return Field(default, description=description, ge=ge, le=le, json_schema_extra=extra)


class Section(BaseModel):
    """Base of the sections: frozen, nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Knob:
    """One setting as docs, sliders and ``.env.example`` show it. ``name`` is ``section.field``."""

    name: str
    env: str
    default: object
    minimum: float | None
    maximum: float | None
    unit: str
    source: str
    description: str
    per_request: bool


def describe_tree(settings_type: type[BaseModel]) -> list[Knob]:
    """All knobs of the tree in order."""
    found: list[Knob] = []
    for name, field in settings_type.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            found += [
                _describe(f"{name}.{key}", f"RAG_{name.upper()}__{key.upper()}", inner)
                for key, inner in section.model_fields.items()
            ]
        else:
            found.append(_describe(name, f"RAG_{name.upper()}", field))
    return found


def _describe(name: str, env: str, field: FieldInfo) -> Knob:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    return Knob(
        name=name,
        env=env,
        default=field.default,
        minimum=_bound(field, "ge"),
        maximum=_bound(field, "le"),
        unit=str(extra.get("unit", "")),
        source=str(extra.get("source", "")),
        description=field.description or "",
        per_request=bool(extra.get("per_request", False)),
    )


def _bound(field: FieldInfo, name: str) -> float | None:
    values = [
        getattr(item, name) for item in field.metadata if getattr(item, name, None) is not None
    ]
    return float(values[0]) if values else None
