"""PyTorch's operator database through `capture.compile`.

cases.py    an entry of the database, a dtype  ->  programs to run
runner.py   a program                          ->  eager and captured compared; what the captured one
                                                   consisted of
shards.py   many operators                     ->  child processes, so that a crash has a name
report.py   the results                        ->  docs/operators.md
"""
