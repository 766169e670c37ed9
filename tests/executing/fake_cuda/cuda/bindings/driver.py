"""The driver's calls that the GPU process makes, over host memory. What a kernel does is told by its entry's name.

FAKE_CUDA sets a mood: "none" no device, "old" a driver that lacks a function, "full" no memory for a context, "lost"
a context that is lost, "silent" and those of _FIRST_WORDS a first word that is none, "capability 10.3" a device of
that kind. A kernel that hangs makes the file FAKE_CUDA_BEGUN first.
"""

import ctypes
import enum
import os
import signal
import struct
import sys
import time

_MOOD = os.environ.get("FAKE_CUDA", "")
_FIRST_WORDS = {
    "garbage": b"Segmentation fault, and more words than the eight bytes of a length", "half": b"\x40\0\0",
    "endless": struct.pack("<QI", 1 << 60, 20), "broken": struct.pack("<QI", 20, 16) + b"{no JSON at all}",
    "foreign": struct.pack("<QI", 16, 12) + b'{"sizes":[]}',
    "nested": struct.pack("<QI", 50_004, 50_000) + b"[" * 50_000,
    "empty_handed": struct.pack("<QI", 47, 43) + b'{"sizes":[],"status":"done"}               ',
}
_CAPABILITY = tuple(map(int, _MOOD.split()[-1].split("."))) if _MOOD.startswith("capability") else (9, 0)

_live = {}                  # address: memory
_modules = {}               # handle: code
_functions = {}             # handle: (code, entry)
_state = {"lost": None, "error": None, "stack": 1024, "device": 0}


def _pipe():
    """The descriptor of the answers: the process's standard output as it was at first."""
    return next(fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}")
                and os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:"))


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_ECC_UNCORRECTABLE = 214
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_LAUNCH_TIMEOUT = 702
    CUDA_ERROR_ASSERT = 710
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715
    CUDA_ERROR_MISALIGNED_ADDRESS = 716
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717
    CUDA_ERROR_INVALID_PC = 718
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_UNKNOWN = 999


OK = CUresult.CUDA_SUCCESS


class CUfunction_attribute(enum.IntEnum):
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14


class CUdevice_attribute(enum.IntEnum):
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76


class CUlimit(enum.IntEnum):
    CU_LIMIT_STACK_SIZE = 0
    CU_LIMIT_PRINTF_FIFO_SIZE = 1


class CUjit_option(enum.IntEnum):
    CU_JIT_ERROR_LOG_BUFFER = 5
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6


def cuInit(flags):
    if _MOOD == "old":
        raise RuntimeError('Function "cuInit" not found')
    if _MOOD == "none":
        return (CUresult.CUDA_ERROR_NO_DEVICE,)
    if _MOOD == "silent":
        time.sleep(60)
    if _MOOD == "dies":
        sys.exit("the driver's library is damaged")
    if _MOOD in _FIRST_WORDS:
        os.write(_pipe(), _FIRST_WORDS[_MOOD])
        os._exit(0)
    return (OK,)


def cuDeviceGet(ordinal):
    if ordinal > 1:
        return CUresult.CUDA_ERROR_INVALID_DEVICE, 0
    _state["device"] = ordinal
    return OK, ordinal


def cuDevicePrimaryCtxRetain(device):
    return (CUresult.CUDA_ERROR_OUT_OF_MEMORY if _MOOD == "full" else OK), 1


def cuCtxSetCurrent(context):
    return (OK,)


def cuCtxSetLimit(limit, value):
    if limit == CUlimit.CU_LIMIT_STACK_SIZE:
        _state["stack"] = value
    return (OK,)


def cuCtxSynchronize():
    if _MOOD == "lost":
        return (CUresult.CUDA_ERROR_OUT_OF_MEMORY,)
    _state["lost"] = _state["lost"] or _state["error"]
    return (_state["lost"] or OK,)


def cuDriverGetVersion():
    return OK, 13000


def cuDeviceGetName(length, device):
    return OK, (b"Imagined GPU" + (b" 1" if device else b"")).ljust(length, b"\0")


def cuDeviceGetAttribute(attribute, device):
    return OK, _CAPABILITY[attribute - CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR]


def cuMemAlloc(size):
    if size + sum(map(len, _live.values())) > 1 << 24:
        return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
    memory = ctypes.create_string_buffer(size)
    _live[ctypes.addressof(memory)] = memory
    return OK, ctypes.addressof(memory)


def cuMemFree(pointer):
    del _live[pointer]
    return (OK,)


def cuMemcpyHtoD(pointer, host, size):
    ctypes.memmove(pointer, host, size)
    return (OK,)


def cuMemcpyDtoH(host, pointer, size):
    ctypes.memmove(host, pointer, size)
    return (OK,)


def cuKernelSetAttribute(attribute, value, kernel, device):
    return (OK,)


def _compiled(code):
    if b".version 99.0" in code:
        return CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, b"ptxas application ptx input, line 1; too new"
    if b"nonsense" in code:
        return CUresult.CUDA_ERROR_INVALID_PTX, b"ptxas application ptx input, line 5; error: nonsense"
    return OK, b""


def cuLibraryLoadData(code, options, values, count, more, more_values, more_count):
    handle = len(_modules) + 1
    _modules[handle] = bytearray(code)
    return CUresult.CUDA_ERROR_INVALID_IMAGE if code == b"damaged" else OK, handle


def cuModuleLoadDataEx(code, count, options, values):
    error, said = _compiled(code)
    values[0][: len(said)] = said
    return error, 1


def cuModuleUnload(module):
    return (OK,)


def cuLibraryUnload(module):
    return (OK if _modules.pop(module, None) is not None else CUresult.CUDA_ERROR_INVALID_VALUE,)


def cuLibraryGetKernel(module, entry):
    handle = len(_functions) + 1
    _functions[handle] = (_modules[module], entry.decode())
    return _compiled(_modules[module])[0], handle


def cuKernelGetFunction(kernel):
    return OK, kernel


def cuFuncSetAttribute(function, attribute, value):
    too_much = attribute == CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES and value > 232448
    return (CUresult.CUDA_ERROR_INVALID_VALUE if too_much else OK,)


def _floats(pointer, count):
    return (ctypes.c_float * count).from_address(pointer)


def cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
    code, entry = _functions[function]
    places = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p)) if parameters else None

    def word(index, kind=ctypes.c_uint64):
        return kind.from_address(places[index]).value

    if entry == "add_one":                          # (in, out, n)
        count = word(2, ctypes.c_uint32)
        for i in range(count):
            _floats(word(1), count)[i] = _floats(word(0), count)[i] + 1
    elif entry == "past_end":
        count = word(1, ctypes.c_uint32)
        _floats(word(0), count + 3)[count + 2] = 1.0
    elif entry == "before_start":
        _floats(word(0) - 8, 1)[0] = 1.0
    elif entry == "both_sides":
        _floats(word(0) - 8, 1)[0] = _floats(word(0), word(1, ctypes.c_uint32) + 1)[word(1, ctypes.c_uint32)] = 1.0
    elif entry == "form":
        _floats(word(0), 1)[0] = 8.0 if code.startswith(b".version") else len(code)
    elif entry == "structure":                      # (out, 24 bytes)
        ctypes.memmove(word(0), places[1], 24)
    elif entry == "count_up":                       # a variable of the module
        _floats(word(0), 1)[0] = code[-1] = code[-1] + 1
    elif entry == "stack":
        _floats(word(0), 1)[0] = _state["stack"]
    elif entry == "live":
        _floats(word(0), 1)[0] = len(_live)
    elif entry == "who":
        _floats(word(0), 1)[0] = os.getpid()
    elif entry == "no_room":
        return (CUresult.CUDA_ERROR_OUT_OF_MEMORY,)
    elif entry == "refused":
        return (CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,)
    elif entry == "hang":
        if "FAKE_CUDA_BEGUN" in os.environ:
            open(os.environ["FAKE_CUDA_BEGUN"], "x").close()
        time.sleep(60)
    elif entry == "die":
        os._exit(3)
    elif entry == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif entry == "chatter":
        os.write(1, b"printed by the kernel\n" * 1000)
    elif entry == "assert":
        os.write(2, b"k.cu:7: void k(): block: [1,0,0], thread: [2,3,0] Assertion `i < n` failed.\n")
        _state["error"] = CUresult.CUDA_ERROR_ASSERT
    elif entry in _FIRST_WORDS:
        os.write(_pipe(), _FIRST_WORDS[entry])
        os._exit(0)
    elif entry == "babble":                         # an answer nobody asked for, before the true one
        os.write(_pipe(), b"x" * 100)
    else:                                           # an error by its name
        _state["error"] = CUresult[entry]
    return (OK,)
