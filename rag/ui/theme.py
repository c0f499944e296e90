"""Theme: Gradio's variables pointed at the tokens of ``style.css``; system fonts only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

_HERE = Path(__file__).parent
_SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
_MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "monospace"]

# Gradio variable -> token. The tokens change with dark mode themselves, so both get the same.
_TOKENS = {
    "body_background_fill": "--bg",
    "body_text_color": "--ink",
    "body_text_color_subdued": "--muted",
    "background_fill_primary": "--card",
    "background_fill_secondary": "--bg",
    "block_background_fill": "--card",
    "block_border_color": "--line",
    "block_label_text_color": "--muted",
    "block_label_background_fill": "--card",
    "block_title_text_color": "--muted",
    "block_info_text_color": "--muted",
    "border_color_primary": "--line",
    "border_color_accent": "--accent",
    "border_color_accent_subdued": "--line",
    "color_accent_soft": "--accent-soft",
    "link_text_color": "--accent",
    "link_text_color_hover": "--accent",
    "link_text_color_visited": "--accent",
    "link_text_color_active": "--accent",
    "input_background_fill": "--bg",
    "input_border_color": "--line",
    "input_border_color_focus": "--accent",
    "input_placeholder_color": "--muted",
    "button_primary_background_fill": "--accent-fill",
    "button_primary_background_fill_hover": "--accent-fill-hover",
    "button_primary_text_color": "--on-accent",
    "button_secondary_background_fill": "--card",
    "button_secondary_background_fill_hover": "--bg",
    "button_secondary_text_color": "--muted",
    "button_secondary_border_color": "--line",
    "table_even_background_fill": "--card",
    "table_odd_background_fill": "--card",
    "table_border_color": "--line",
    "table_row_focus": "--accent-soft",
    "table_text_color": "--ink",
    "slider_color": "--accent",
    "checkbox_background_color_selected": "--accent-fill",
    "checkbox_border_color_selected": "--accent-fill",
}
_ONE_VALUE = {
    "block_shadow": "none",
    "block_border_width": "0px",
    "block_radius": "12px",
    "input_radius": "10px",
    "button_large_radius": "10px",
    "button_small_radius": "10px",
    "layout_gap": "16px",
    "form_gap_width": "0px",
    "body_text_size": "16px",
}


def page_theme() -> gr.themes.Base:
    """The theme to hand to ``gr.mount_gradio_app``."""
    theme = gr.themes.Base(font=_SANS, font_mono=_MONO)
    values: dict[str, Any] = dict(_ONE_VALUE)
    known = set(gr.themes.Base.set.__code__.co_varnames)
    for name, token in _TOKENS.items():
        values[name] = f"var({token})"
        if f"{name}_dark" in known:
            values[f"{name}_dark"] = f"var({token})"
    return theme.set(**values)


def page_css() -> str:
    """The style sheet to hand to ``gr.mount_gradio_app``."""
    return (_HERE / "style.css").read_text(encoding="utf-8")


def page_head() -> str:
    """The head to hand to ``gr.mount_gradio_app``: one small script, nothing from elsewhere."""
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    return f"<script>{script}</script>"
