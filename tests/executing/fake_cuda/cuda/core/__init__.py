"""The part of cuda.core that `bench/planted/worker.py` uses. The one kernel there is adds 1 to each of n floats."""

import ctypes
import os


class CUDAError(Exception):
    pass


class Stream:
    def sync(self):
        pass


class Device:
    def __init__(self, index):
        if os.environ.get("FAKE_CUDA") == "none":
            raise CUDAError("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected")

    def set_current(self):
        pass

    def create_stream(self):
        return Stream()


class ObjectCode:
    @classmethod
    def from_cubin(cls, code):
        return cls()

    def get_kernel(self, entry):
        return entry


class LaunchConfig:
    def __init__(self, grid, block, shmem_size):
        self.block = block


def launch(stream, config, kernel, source, target, n):
    if config.block[0] > 1024:
        raise CUDAError("CUDA_ERROR_INVALID_VALUE: invalid argument")
    numbers, sums = ((ctypes.c_float * int(n)).from_address(pointer) for pointer in (source, target))
    for i, number in enumerate(numbers):
        sums[i] = number + 1
