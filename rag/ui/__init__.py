"""The Gradio page: one small module per tab."""
