"""KnobInput: maintainers' sliders, generated from the settings and sent with a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gradio as gr

from rag.knobs import Knob
from rag.settings import Settings, describe_knobs


@dataclass(frozen=True)
class KnobInput:
    """One setting with the component that changes it; ``current`` is the server's own value."""

    knob: Knob
    current: float | int | bool | None
    component: gr.components.Component


def build_knobs(settings: Settings) -> list[KnobInput]:
    """A component for every number or switch that may be sent with one question."""
    inputs = []
    for knob in describe_knobs():
        section, _, key = knob.name.partition(".")
        current = getattr(getattr(settings, section), key) if key else None
        if not knob.per_request or not isinstance(current, bool | int | float | None):
            continue
        inputs.append(KnobInput(knob, current, _component(knob, current)))
    return inputs


def _component(knob: Knob, current: float | int | bool | None) -> gr.components.Component:
    name = knob.name.replace(".", " · ").replace("_", " ")
    info = knob.description + (f" Unit: {knob.unit}." if knob.unit else "")
    if isinstance(current, bool):
        return gr.Checkbox(value=current, label=name, info=info)
    # A bar without a value is calibrated for the reranker, which no slider can show; an empty
    # gr.Number comes back as 0, so it is a field of text.
    if current is None or knob.minimum is None or knob.maximum is None:
        return gr.Textbox(
            value="" if current is None else str(current),
            label=name,
            info=info,
            placeholder="calibrated",
            max_lines=1,
        )
    whole = isinstance(current, int)
    return gr.Slider(
        knob.minimum, knob.maximum, value=current, step=1 if whole else 0.01, label=name, info=info
    )


def changed_settings(
    inputs: Sequence[KnobInput], values: Sequence[object]
) -> dict[str, float | int | bool | str | None]:
    """Only what differs from the server's own values, in the types of the settings."""
    changed: dict[str, float | int | bool | str | None] = {}
    for item, value in zip(inputs, values, strict=True):
        wanted = _typed(item, value)
        if wanted is not None and wanted != item.current:
            changed[item.knob.name] = wanted
    return changed


def _typed(item: KnobInput, value: object) -> float | int | bool | str | None:
    if isinstance(value, str):
        try:
            return float(value) if value.strip() else None
        except ValueError:
            return value.strip()[:40]  # the engine refuses it with a sentence
    if isinstance(item.current, bool):
        return bool(value)
    if isinstance(item.current, int) and isinstance(value, int | float):
        return round(value)
    return value if isinstance(value, int | float) else None
