"""Pure functions, one file per formula: no I/O, no clock, every constant an argument."""
