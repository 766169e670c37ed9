"""Every function that an oracle may call, by name."""

from __future__ import annotations

from collections.abc import Callable

from ptxgen.verifying.elementwise import Elementwise
from ptxgen.verifying.reductions import Reductions
from ptxgen.verifying.shaping import Shaping
from ptxgen.verifying.tracked import Arithmetic, Tracked


def functions(arithmetic: Arithmetic) -> dict[str, Callable[..., Tracked]]:
    """Exactly the names of `ptxgen.spec.ORACLE_FUNCTIONS`, in the given arithmetic."""
    elementwise = Elementwise(arithmetic).named
    reductions = Reductions(arithmetic, elementwise["sqrt"]).named
    return {**elementwise, **reductions, **Shaping(arithmetic).named}
