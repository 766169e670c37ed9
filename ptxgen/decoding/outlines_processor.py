"""The masks through Outlines' interface: whole kernels from any model that Outlines can steer.

    vocabulary = open_session("smollm2", n_ctx=64)
    processor = KernelProcessor(vocabulary, spec, load_table(), "full", max_tokens=1000)
    body = Generator(model, processor=processor)(prompt, max_tokens=1001)
    processor.raise_if_failed()
    ptx = processor.ptx

The prompt ends with the spec's header. Engines that call processors from C swallow exceptions and then sample
without a mask; so nothing is raised inside: after a failure only the end of text is allowed, and the error waits
for `raise_if_failed`. Statements cannot be taken back through this interface: one after which the kernel could
not be closed is such a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlines.processors import OutlinesLogitsProcessor

from ptxgen.decoding.canonical import Canonical
from ptxgen.decoding.course import Course, Line
from ptxgen.decoding.vocabulary import Vocabulary
from ptxgen.errors import MaskError, UsageError
from ptxgen.semantics import Level, State, contract_of

if TYPE_CHECKING:
    from ptxgen.isa import Table
    from ptxgen.spec import Spec


class KernelProcessor(OutlinesLogitsProcessor):  # type: ignore[misc]
    """Masks one sequence, token by token. `max_tokens` bounds the body; the end of text is one more.

    `tensor_library` is the engine's: "numpy" for llama.cpp, else "torch" or "mlx".
    Raises UsageError for a level without masks, MaskError where the spec has no kernel within the budget.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        spec: Spec,
        table: Table,
        level: str | Level,
        *,
        max_tokens: int,
        arch: str | None = None,
        tensor_library: str = "numpy",
    ) -> None:
        super().__init__(tensor_library)
        level = Level.parse(level) if isinstance(level, str) else level
        if level is Level.NONE:
            raise UsageError("the level `none` has no masks", fix="leave the processor out")
        arch = arch or spec.target.arch[0]
        self._vocabulary = vocabulary
        self._start = State.start(contract_of(spec, table, arch), level)
        self._max_tokens = max_tokens
        self._canonical = Canonical(vocabulary)
        self._header = spec.header(arch, table)
        self.reset()

    def reset(self) -> None:
        """Begin a new kernel; Outlines calls it before each generation."""
        self._course = Course(self._canonical, self._start, self._max_tokens)
        self._line: Line | None = None
        self._expected: list[int] = []  # forced, and not yet seen to be sampled
        self._seen: int | None = None  # length of the sequence so far, the prompt included
        self._body = b""
        self._error: BaseException | None = None

    # ------------------------------------------------------------ what came of it

    @property
    def complete(self) -> bool:
        """Whether the kernel was closed."""
        return self._error is None and self._course.state.closed and not self._expected

    @property
    def ptx(self) -> str:
        """The kernel so far: the spec's header and the lines that were written."""
        return self._header + self._body.decode(errors="replace")

    def raise_if_failed(self) -> None:
        """Raise what went wrong inside; to be called after every generation."""
        if self._error is not None:
            raise self._error

    # ------------------------------------------------------------ the engine's calls

    def __call__(self, input_ids: Any, logits: Any) -> Any:
        """Never raises: see the module's docstring."""
        try:
            if self._error is None:
                return super().__call__(input_ids, logits)
        except BaseException as error:  # an interrupt would be swallowed too
            self._error = error
        return self._masked(logits, sorted(self._vocabulary.eos_tokens))

    def process_logits(self, input_ids: Any, logits: Any) -> Any:
        """Mask [1, n_vocab] logits after the sequence [1, length]."""
        sequences = self.tensor_adapter.to_list(input_ids)
        if len(sequences) != 1:
            raise MaskError("kernels are written one at a time", why=f"the engine asked for {len(sequences)} at once")
        sequence = sequences[0]
        for token in sequence[len(sequence) if self._seen is None else self._seen :]:
            self._follow(token)
        self._seen = len(sequence)
        return self._masked(logits, self._legal())

    def _masked(self, logits: Any, ids: list[int]) -> Any:
        """-inf for all but `ids`."""
        hidden = self.tensor_adapter.boolean_ones_like(logits)
        hidden[..., ids] = False
        return self.tensor_adapter.apply_mask(logits, hidden, float("-inf"))

    def _follow(self, token: int) -> None:
        """A token was sampled. Raises MaskError for one that was not offered."""
        if self._expected:
            if token != self._expected[0]:
                raise MaskError("the engine sampled a token that the mask had ruled out")
            del self._expected[0]
        elif self._line is not None:
            self._line.take(token)
        elif token not in self._vocabulary.eos_tokens:
            raise MaskError("the engine went on after the kernel's end")
        if token not in self._vocabulary.eos_tokens:
            self._body += self._vocabulary.token_bytes[token]

    def _legal(self) -> list[int]:
        """The ids that may come next."""
        pieces = self._vocabulary.token_bytes
        while not self._expected:
            if self._line is None:
                if self._course.state.closed:
                    return sorted(self._vocabulary.eos_tokens)
                self._begin_line()
            elif self._line.finished:
                text = self._line.text(pieces).decode()
                if not self._course.accept(text, len(self._line.tokens)):
                    raise MaskError("the kernel could not be closed after a statement", where=text.strip())
                self._line = None
            elif count := self._line.take_forced():
                self._expected = self._line.tokens[-count:]
            else:
                return [int(i) for i in self._line.choices(pieces, self._vocabulary.n_vocab)]
        return self._expected[:1]

    def _begin_line(self) -> None:
        """A line of the model's choice where the budget allows, else the next one of the way home."""
        legal = self._course.legal() if self._course.may_roam() else None
        if legal is None or legal.empty:
            self._expected = self._course.way_home()[1]
        else:
            self._line = Line(self._vocabulary.ll_tokenizer(), self._canonical, legal)
