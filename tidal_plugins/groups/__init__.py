"""The capabilities of a memory, one small object each: ``memory.episodes``, ``memory.dossiers``, …

Each is bound to the services of a store and to one scope. Building one has no effect.
"""
