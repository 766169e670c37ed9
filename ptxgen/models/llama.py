"""A GGUF model run by llama.cpp, through the C interface that llama-cpp-python binds.

The high-level class of that package is passed over: it keeps a score matrix, detokenises everything at every
token, and swallows exceptions of logits processors. Here a session is one context with one sequence.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# A thread of llama.cpp that waits for the others spins for milliseconds by default; on a machine that does
# anything else besides, that takes the very core the others need, and a token takes seconds. Read at loading.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import llama_cpp
import numpy as np
import numpy.typing as npt

from ptxgen.models.chat import render_chat
from ptxgen.models.failures import ContextFull, ModelError
from ptxgen.models.gguf import read_header
from ptxgen.models.interrupts import interrupts_deferred
from ptxgen.models.session import ModelIdentity, log_probability

#: tokens a call of llama_decode. Prompts gain nothing beyond it on a CPU, and Ctrl-C is seen between calls.
BATCH = 128
#: tokens whose logits one call computes at most
SCORED = 32
#: how much context a session gets where nobody says
DEFAULT_CONTEXT = 8192
#: seldom is a token longer; where one is, the buffer grows
_PIECE_BYTES = 256
_ERROR_LEVEL = 4      # ggml's log levels: debug 1, info 2, warn 3, error 4

_log_lines: list[str] = []


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_errors(level: int, text: bytes, _data: object) -> None:
    """llama.cpp is silent on the terminal; its last error lines explain a failed load."""
    if level == _ERROR_LEVEL:
        _log_lines.append(text.decode("utf-8", errors="replace").strip())
        del _log_lines[:-5]


class LlamaSession:
    """Implements `Session`. Not thread-safe; `close` frees the model's memory."""

    def __init__(
        self, path: Path, *, sha256: str, name: str = "", n_ctx: int = 0, threads: int | None = None
    ) -> None:
        """`n_ctx` 0 means 8,192; never more than the model was trained for. `threads` None: physical cores.

        Raises ModelError for a file that is no whole GGUF model or that llama.cpp refuses.
        """
        header = read_header(path)
        llama_cpp.llama_log_set(_keep_errors, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        _log_lines.clear()
        params = llama_cpp.llama_model_default_params()
        # GCC before 13 drops stores that set up AMX's tiles (its intrinsic names 8 of the 64 bytes), and a
        # llama.cpp built by it dies at the first matrix product. Plain buffers never enter the AMX kernels.
        params.use_extra_bufts = not built_with_amx()
        self._model = None
        try:
            with interrupts_deferred() as interrupted:
                goes_on = llama_cpp.llama_progress_callback(lambda progress, data: not interrupted())
                params.progress_callback = goes_on
                self._model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
                if not self._model:
                    raise _refused("llama.cpp cannot load this model", path)
                self._vocab = llama_cpp.llama_model_get_vocab(self._model)
                trained = llama_cpp.llama_model_n_ctx_train(self._model)
                self.n_ctx = min(n_ctx or DEFAULT_CONTEXT, trained) if trained > 0 else n_ctx or DEFAULT_CONTEXT
                self._context = self._open_context(threads or physical_cores())
                if not self._context:
                    raise _refused("llama.cpp cannot make a context for this model", path)
        except BaseException:
            self.close()
            raise
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(BATCH, 0, 1)
        self.identity = ModelIdentity(
            name=name or str(header.metadata.get("general.name", path.stem)), path=str(path), sha256=sha256
        )
        self.n_vocab: int = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self.token_bytes: Sequence[bytes] = tuple(self._piece(token) for token in range(self.n_vocab))
        self.eos_tokens = frozenset(
            token for token in range(self.n_vocab) if llama_cpp.llama_vocab_is_eog(self._vocab, token)
        )
        self._template = _chat_template(self._model)
        setting = header.metadata.get("tokenizer.ggml.add_space_prefix", True)
        self._prefixed = _adds_space(self._vocab, setting)
        self._control: tuple[str, ...] | None = None
        self._ll_tokenizer: Any = None
        self._tokens: list[int] = []
        #: the logits at hand belong to the last token of `_tokens`
        self._fresh = False

    @property
    def position(self) -> int:
        return len(self._tokens)

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        if not self._prefixed:
            return self._tokenize(text, special)
        # A SentencePiece vocabulary puts a space before any text; behind a line break there is none.
        marker = self._tokenize(b"\n", False)
        tokens = self._tokenize(b"\n" + text, special)
        return tokens[len(marker) :] if tokens[: len(marker)] == marker else self._tokenize(text, special)

    def chat_prompt(self, system: str, turns: Sequence[tuple[str, str]], answer_start: str = "") -> list[int]:
        bos = llama_cpp.llama_vocab_bos(self._vocab)
        text = render_chat(
            self._template, system, turns,
            bos=self._text_of(bos), eos=self._text_of(llama_cpp.llama_vocab_eos(self._vocab)),
            control=self._control_texts(),
        )  # fmt: skip
        tokens = self._tokenize((text + answer_start).encode(), True)
        if llama_cpp.llama_vocab_get_add_bos(self._vocab) and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return tokens

    def evaluate(self, tokens: Sequence[int]) -> None:
        if len(self._tokens) + len(tokens) > self.n_ctx:
            raise ContextFull(len(self._tokens), len(tokens), self.n_ctx)
        for start in range(0, len(tokens), BATCH):
            self._decode(tokens[start : start + BATCH], wanted=int(start + BATCH >= len(tokens)))

    def evaluate_scored(self, tokens: Sequence[int], following: Sequence[int]) -> float:
        if len(self._tokens) + len(tokens) > self.n_ctx:
            raise ContextFull(len(self._tokens), len(tokens), self.n_ctx)
        total = 0.0
        for start in range(0, len(tokens), SCORED):
            part = tokens[start : start + SCORED]
            self._decode(part, wanted=len(part))
            for index, token in enumerate(following[start : start + SCORED]):
                total += log_probability(self._row(index), token)
        return total

    def logits(self) -> npt.NDArray[np.float32]:
        if not self._tokens:
            raise ValueError("no token has been evaluated")
        if not self._fresh:
            last = self._tokens[-1]
            self._truncate(len(self._tokens) - 1)
            self._decode([last], wanted=1)
        return self._row(-1)

    def _row(self, index: int) -> npt.NDArray[np.float32]:
        """Logits after one token of the last batch: a view that the next batch overwrites."""
        pointer = llama_cpp.llama_get_logits_ith(self._context, index)
        return np.ctypeslib.as_array(pointer, shape=(self.n_vocab,))

    def rewind(self, position: int) -> None:
        """See `Session`. The last token is evaluated anew only once `logits` is asked for, since the caller
        often appends other tokens first."""
        if not 0 <= position <= len(self._tokens):
            raise ValueError(f"cannot rewind from {len(self._tokens)} to {position}")
        if position < len(self._tokens):
            self._truncate(position)

    def ll_tokenizer(self) -> Any:
        if self._ll_tokenizer is None:
            from llguidance.llamacpp import lltokenizer_from_vocab

            first = llama_cpp.llama_vocab_eos(self._vocab)
            ends = [first, *sorted(self.eos_tokens - {first})]
            with warnings.catch_warnings():
                # it asks for each token's attributes by the function's old name
                warnings.simplefilter("ignore", DeprecationWarning)
                self._ll_tokenizer = lltokenizer_from_vocab(self._vocab, n_vocab=self.n_vocab, eos_token=ends)
        return self._ll_tokenizer

    def close(self) -> None:
        self._ll_tokenizer = None
        with interrupts_deferred():
            if getattr(self, "_batch", None) is not None:
                llama_cpp.llama_batch_free(self._batch)
                self._batch = None
            if getattr(self, "_context", None):
                llama_cpp.llama_free(self._context)
                self._context = None
            if self._model:
                llama_cpp.llama_model_free(self._model)
                self._model = None

    def _open_context(self, threads: int) -> Any:
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = self.n_ctx
        params.n_batch = params.n_ubatch = BATCH
        params.n_outputs_max = SCORED     # else a buffer of BATCH x n_vocab logits is kept
        params.n_threads = params.n_threads_batch = threads
        params.no_perf = True
        return llama_cpp.llama_init_from_model(self._model, params)

    def _decode(self, tokens: Sequence[int], *, wanted: int) -> None:
        """One batch, at most BATCH tokens. `wanted`: of how many of its last tokens logits are computed."""
        held, batch = len(self._tokens), self._batch
        self._fresh = False
        # An interrupt may have come between an earlier decode and its bookkeeping.
        llama_cpp.llama_memory_seq_rm(self._memory, 0, held, -1)
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = held + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = int(index >= len(tokens) - wanted)
        with interrupts_deferred():
            status = llama_cpp.llama_decode(self._context, batch)
        if status != 0:
            if status == 1:
                raise ContextFull(held, len(tokens), self.n_ctx)
            why = _last_log() or f"status {status}"
            raise ModelError("llama.cpp failed while evaluating tokens", why=why)
        self._tokens.extend(tokens)
        self._fresh = wanted > 0

    def _truncate(self, position: int) -> None:
        kept = self._tokens[:position]
        self._fresh = False
        if llama_cpp.llama_memory_seq_rm(self._memory, 0, position, -1):
            self._tokens = kept
            return
        # Recurrent models cannot forget a part: begin anew.
        llama_cpp.llama_memory_clear(self._memory, True)
        self._tokens = []
        self.evaluate(kept)

    def _tokenize(self, text: bytes, special: bool) -> list[int]:
        room = len(text) + 8
        while True:
            buffer = (llama_cpp.llama_token * room)()
            count = llama_cpp.llama_tokenize(self._vocab, text, len(text), buffer, room, False, special)
            if count >= 0:
                return list(buffer[:count])
            room = -count

    def _piece(self, token: int) -> bytes:
        """Bytes of a token; b"" for control tokens and for `<...>` names added to the vocabulary, which the
        llguidance tokeniser treats as control too."""
        piece = self._raw_piece(token, special=False)
        if piece.startswith(b"<") and piece.endswith(b">"):
            attributes = llama_cpp.llama_vocab_get_attr(self._vocab, token)
            if attributes & llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED:
                return b""
        return piece

    def _raw_piece(self, token: int, *, special: bool) -> bytes:
        room = _PIECE_BYTES
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, room, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def _text_of(self, token: int) -> str:
        return "" if token < 0 else self._raw_piece(token, special=True).decode("utf-8", errors="replace")

    def _control_texts(self) -> tuple[str, ...]:
        if self._control is None:
            texts = (self._text_of(token) for token in range(self.n_vocab) if not self.token_bytes[token])
            self._control = tuple(text for text in texts if len(text) > 1)
        return self._control


def built_with_amx() -> bool:
    """Whether this llama.cpp was compiled with Intel's AMX kernels, and so for a CPU that has them."""
    return b"AMX_INT8 = 1" in llama_cpp.llama_print_system_info()


def physical_cores() -> int:
    """Cores this process may use, hyper-threads of one core counted once: inference gains nothing by them."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores: set[object] = set()
    for cpu in usable:
        try:
            siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
        except OSError:
            siblings = str(cpu)
        cores.add(siblings.strip())
    return max(1, len(cores))


def _chat_template(model: Any) -> str | None:
    found = llama_cpp.llama_model_chat_template(model, None)
    return found.decode("utf-8", errors="replace") if found else None


def _adds_space(vocab: Any, setting: object) -> bool:
    sentencepiece = llama_cpp.llama_vocab_type(vocab) == llama_cpp.LLAMA_VOCAB_TYPE_SPM
    return bool(sentencepiece and setting)


def _refused(what: str, path: Path) -> ModelError:
    return ModelError(what, where=str(path), why=_last_log(), fix="try another model: ptxgen-local models")


def _last_log() -> str:
    return "; ".join(line for line in _log_lines if line)
