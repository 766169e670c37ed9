"""The driver's calls that the GPU process makes, over host memory."""

import ctypes
import enum
import os

_live: dict[int, ctypes.Array] = {}


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2


class CUfunction_attribute(enum.IntEnum):
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


class CUlimit(enum.IntEnum):
    CU_LIMIT_STACK_SIZE = 0


def cuCtxSetLimit(limit, value):
    return (CUresult.CUDA_SUCCESS,)


def cuCtxSynchronize():
    lost = os.environ.get("FAKE_CUDA") == "lost"
    return (CUresult.CUDA_ERROR_OUT_OF_MEMORY if lost else CUresult.CUDA_SUCCESS,)


def cuDriverGetVersion():
    return CUresult.CUDA_SUCCESS, 13000


def cuMemAlloc(size):
    if size > 1 << 30:
        return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
    memory = ctypes.create_string_buffer(size)
    _live[ctypes.addressof(memory)] = memory
    return CUresult.CUDA_SUCCESS, ctypes.addressof(memory)


def cuMemFree(pointer):
    del _live[pointer]
    return (CUresult.CUDA_SUCCESS,)


def cuMemcpyHtoD(pointer, host, size):
    ctypes.memmove(pointer, host, size)
    return (CUresult.CUDA_SUCCESS,)


def cuMemcpyDtoH(host, pointer, size):
    ctypes.memmove(host, pointer, size)
    return (CUresult.CUDA_SUCCESS,)


def cuKernelSetAttribute(attribute, value, kernel, device):
    return (CUresult.CUDA_SUCCESS,)
