"""Correct kernels with a fault planted in each place where one fits: which are reported."""
