"""The one root of every error a user can cause or meet.

Commands catch `PtxgenError`, print it and leave with its `exit_code`; anything else that escapes is a bug.
"""

from __future__ import annotations


class PtxgenError(Exception):
    """What went wrong, where, why, and the command or change that mends it.

    `exit_code` follows the contract: 1 it ran and the answer is no, 2 wrong usage, spec, file or environment.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", why: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  at: {self.where}")
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class UsageError(PtxgenError):
    """A flag, a file name or a combination of them that cannot work."""


class MaskError(PtxgenError):
    """A mask could not be computed; decoding stops rather than going on unmasked."""


class Interrupted(PtxgenError):
    """Ctrl-C; what was made so far has been written, marked unfinished."""

    exit_code = 130
