"""Whole kernels as compilers make them, run: on the emulator or a GPU, against oracles in NumPy."""
