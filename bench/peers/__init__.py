"""Other projects' tests of kernels, run on the emulator from checkouts that the user has."""
