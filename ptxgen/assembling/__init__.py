"""Finding ptxas, running it, and reading what it says."""

from ptxgen.assembling.find import ToolMissing, find_ptxas
from ptxgen.assembling.messages import Message, annotate
from ptxgen.assembling.ptxas import Assembly, Ptxas, ToolCrashed

__all__ = ["Assembly", "Message", "Ptxas", "ToolCrashed", "ToolMissing", "annotate", "find_ptxas"]
