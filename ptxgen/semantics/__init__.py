"""The abstract state of a kernel: what a statement does to it, and which statements it allows."""

from ptxgen.semantics.allowing import allowed
from ptxgen.semantics.checking import check_module
from ptxgen.semantics.closing import NoWayHome, Plan, plan_closing
from ptxgen.semantics.contract import Contract, Level, contract_of
from ptxgen.semantics.defining import Violation
from ptxgen.semantics.state import State
from ptxgen.semantics.stepping import step

__all__ = [
    "Contract",
    "Level",
    "NoWayHome",
    "Plan",
    "State",
    "Violation",
    "allowed",
    "check_module",
    "contract_of",
    "plan_closing",
    "step",
]
