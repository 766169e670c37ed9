"""Vectors: what a GPU gave for every instruction form that it can run, and whether the emulator gives the same."""
