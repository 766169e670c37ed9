"""Differential testing: a kernel against its spec's oracle."""

from ptxgen.verifying.adequacy import check_oracle
from ptxgen.verifying.checks import Failure
from ptxgen.verifying.verdict import Verdict, verify

__all__ = ["Failure", "Verdict", "check_oracle", "verify"]
