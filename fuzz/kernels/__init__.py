"""Random whole kernels that are right by construction: no race, no undefined read, always an end.

`making.make(seed)` writes one, `running.run` puts it before an executor, `altering` says the same in other words,
`shrinking` cuts one down to what matters.
"""
