"""Training steps and tiny calls beside eager and torch.compile, as the README shows them.

In:  `python -m benchmarks.peers [--markdown] [--plot] [--again]`.
Out: the table; with `--markdown` also in the README, with `--plot` as the picture `docs/speed.svg`. What was
     measured is kept in `docs/speed.json`; `--again` makes table and picture of it without measuring.

As pyperf does, each measurement is a process of its own, and contenders take turns. One thread on one core.
Times are processor seconds, those of compilers that are started included: other programs of the machine
change them through the caches alone.
"""
