"""What hostile input and faults do to a memory. Each arm is a module with ``NAME``, ``ABOUT`` and ``run``."""
