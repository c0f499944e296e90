"""Choosing papers: where their facts come from."""
