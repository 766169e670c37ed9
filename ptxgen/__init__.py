"""Constrained decoding of NVIDIA PTX by local language models, with verification."""

__version__ = "0.1.0"
