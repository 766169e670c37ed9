"""Masked decoding: a model writes PTX, and every token is one that a legal kernel may have there."""

from ptxgen.decoding.result import Decoded
from ptxgen.decoding.writing import decode

__all__ = ["Decoded", "decode"]
