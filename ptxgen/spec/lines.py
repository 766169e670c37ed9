"""On which line of a TOML text each key and array element stands.

`tomllib` gives values without positions. This scanner walks a text that `tomllib` has already accepted,
so it may be lenient; it only has to follow strings, comments, arrays, inline tables and headers.
"""

from __future__ import annotations

from collections.abc import Iterable

Path = tuple[str | int, ...]
_BARE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def key_lines(text: str) -> dict[Path, int]:
    """Line (1-based) of every key, e.g. `("kernel", "params", 2, "type")`."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def line_of(lines: dict[Path, int], path: Iterable[str | int]) -> int:
    """The line of `path`, or of its nearest enclosing key; 1 when nothing is known."""
    parts = tuple(path)
    while parts:
        if parts in lines:
            return lines[parts]
        parts = parts[:-1]
    return 1


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.lines: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def take(self, length: int = 1) -> str:
        taken = self.text[self.at : self.at + length]
        self.at += length
        self.line += taken.count("\n")
        return taken

    def blank(self, *, newlines: bool) -> None:
        """Skip white space and comments."""
        while self.at < len(self.text):
            if self.peek() == "#":
                while self.at < len(self.text) and self.peek() != "\n":
                    self.take()
            elif self.peek() in " \t\r" or (newlines and self.peek() == "\n"):
                self.take()
            else:
                return

    def document(self) -> None:
        table: Path = ()
        while True:
            self.blank(newlines=True)
            if self.at >= len(self.text):
                return
            if self.peek(2) == "[[":
                self.take(2)
                path = self.keys(table=())
                index = self.counts.get(path, 0)
                self.counts[path] = index + 1
                table = (*path, index)
                self.note(table)
                self.take(2)
            elif self.peek() == "[":
                self.take()
                table = self.keys(table=())
                self.take()
            else:
                self.pair(table)

    def note(self, path: Path) -> None:
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], self.line)

    def keys(self, table: Path) -> Path:
        path = table
        while True:
            self.blank(newlines=False)
            path = (*path, self.key())
            self.note(path)
            self.blank(newlines=False)
            if self.peek() != ".":
                return path
            self.take()

    def key(self) -> str:
        if self.peek() in "\"'":
            return self.string()
        start = self.at
        while self.peek() and self.peek() in _BARE:
            self.take()
        if self.at == start:
            self.take()
        return self.text[start : self.at]

    def pair(self, table: Path) -> None:
        path = self.keys(table)
        self.blank(newlines=False)
        if self.peek() == "=":
            self.take()
        self.value(path)

    def value(self, path: Path) -> None:
        self.blank(newlines=False)
        if self.peek() == "[":
            self.array(path)
        elif self.peek() == "{":
            self.inline_table(path)
        elif self.peek() in ('"', "'"):
            self.string()
        else:
            while self.peek() and self.peek() not in ",]}#\n":
                self.take()

    def array(self, path: Path) -> None:
        self.take()
        index = 0
        while True:
            self.blank(newlines=True)
            if self.peek() in ("]", ""):
                self.take()
                return
            if self.peek() == ",":
                self.take()
                continue
            self.note((*path, index))
            self.value((*path, index))
            index += 1

    def inline_table(self, path: Path) -> None:
        self.take()
        while True:
            self.blank(newlines=True)
            if self.peek() in ("}", ""):
                self.take()
                return
            if self.peek() == ",":
                self.take()
                continue
            self.pair(path)

    def string(self) -> str:
        quote = self.peek()
        if self.peek(3) == quote * 3:
            self.take(3)
            start = self.at
            while self.at < len(self.text) and self.peek(3) != quote * 3:
                self.take(2 if quote == '"' and self.peek() == "\\" else 1)
            content = self.text[start : self.at]
            self.take(3)
            while self.peek() == quote:
                self.take()
            return content
        self.take()
        start = self.at
        while self.at < len(self.text) and self.peek() not in (quote, "\n"):
            self.take(2 if quote == '"' and self.peek() == "\\" else 1)
        content = self.text[start : self.at]
        self.take()
        return content
