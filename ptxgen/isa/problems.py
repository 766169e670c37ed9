"""What a faulty table raises."""

from __future__ import annotations

from ptxgen.errors import PtxgenError


class TableError(PtxgenError):
    """A data file of the table is wrong; `where` is `file:line`, `what` names the entry."""
