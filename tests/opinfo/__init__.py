"""PyTorch's operator database through `capture.compile`.

cases.py    an entry of the database, a dtype  ->  programs to run
runner.py   a program                          ->  eager and captured compared; what was captured
shards.py   many operators                     ->  child processes, so that a crash has a name
report.py   the results                        ->  docs/operators.md
"""
