"""The part of cuda.core that the GPU process uses. What a kernel does is told by its entry's name."""

import ctypes
import os
import time


class CUDAError(Exception):
    pass


class Stream:
    def __init__(self):
        self.error = None

    def sync(self):
        if self.error:
            raise CUDAError(self.error)


class Device:
    name = "Imagined GPU"
    compute_capability = (9, 0)

    def __init__(self, index):
        if os.environ.get("FAKE_CUDA") == "none":
            raise CUDAError("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected")

    def set_current(self):
        pass

    def create_stream(self):
        return Stream()


class Kernel:
    def __init__(self, code, entry):
        self.handle, self.code, self.entry = 1, code, entry


class ObjectCode:
    def __init__(self, code):
        self.code = code

    @classmethod
    def from_ptx(cls, code):
        if b".version 99.0" in code:
            raise CUDAError("CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX has an unsupported version")
        if b"nonsense" in code:
            raise CUDAError("CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed")
        return cls(code)

    @classmethod
    def from_cubin(cls, code):
        return cls(code)

    def get_kernel(self, entry):
        return Kernel(self.code, entry)


class LaunchConfig:
    def __init__(self, grid, block, shmem_size):
        self.grid, self.block, self.shmem_size = grid, block, shmem_size


def _floats(pointer, count):
    return (ctypes.c_float * count).from_address(pointer)


def launch(stream, config, kernel, *arguments):
    if config.block[0] > 1024:
        raise CUDAError("CUDA_ERROR_INVALID_VALUE: invalid argument")
    if kernel.entry == "add_one":                   # (in, out, n)
        source, target, n = arguments
        for i in range(int(n)):
            _floats(target, int(n))[i] = _floats(source, int(n))[i] + 1
    elif kernel.entry == "past_end":
        _floats(arguments[0], int(arguments[1]) + 3)[int(arguments[1]) + 2] = 1.0
    elif kernel.entry == "before_start":
        _floats(arguments[0] - 8, 1)[0] = 1.0
    elif kernel.entry == "from_cubin":
        _floats(arguments[0], 1)[0] = 7.0 if kernel.code == b"cubin" else 8.0
    elif kernel.entry == "hang":
        time.sleep(60)
    elif kernel.entry == "die":
        os._exit(3)
    elif kernel.entry == "chatter":
        os.write(1, b"printed by the kernel\n")
    else:                                           # an error by its name
        stream.error = f"{kernel.entry}: as asked"
