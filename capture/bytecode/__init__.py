"""Reading code objects (`instructions`, `liveness`, `exception_table`) and writing them (`assemble`)."""
