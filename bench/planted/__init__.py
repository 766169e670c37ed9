"""Kernels with one planted fault each: what the emulator reports, and what compute-sanitizer does."""
