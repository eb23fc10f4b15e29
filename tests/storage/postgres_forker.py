"""A process of its own that opens a shared memory and forks: before, ``inside`` or ``amidst`` its transactions."""

from __future__ import annotations

import os
import sys
from threading import Thread

from tidal_plugins import HashingEmbedder, Settings, StorageError, TidalMemory
from tidal_plugins.storage.postgres import PostgresStorage
from tidal_plugins.storage.postgres.connections import ALL

QUIET = Settings(graph={"background": False})
CHILDREN, TURNS = 10, 30


def turn(memory: TidalMemory, thread: str, number: int = 0) -> None:
    memory.record(f"I saw {thread} number {number}.", "Noted.", thread=thread)
    assert memory.recall(f"{thread} number {number}")


def backend(store: PostgresStorage) -> int:
    with store.snapshot():
        return int(store._db.one(ALL, "SELECT pg_backend_pid()"))


def ended(child: int) -> None:
    """Wait for a child, which must have ended well."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, f"the child ended with {code}"


def both(store: PostgresStorage, memory: TidalMemory) -> None:
    before = backend(store)
    child = os.fork()
    for number in range(20):
        turn(memory, "parent" if child else "child", number)
    if not child:
        print("same" if backend(store) == before else "different", flush=True)
        memory.close()
        store.close()
        os._exit(0)
    ended(child)
    assert backend(store) == before  # the connection that it had before still serves it
    turn(memory, "after")


def inside(store: PostgresStorage, memory: TidalMemory) -> None:
    child = -1
    try:
        with store.transaction():
            memory.record("I saw parent number 0.", "Noted.", thread="parent")
            child = os.fork()
            if child:
                ended(child)
    except StorageError as error:
        assert not child
        print(f"{type(error).__name__}: {error}", flush=True)
        memory.scoped("child").record(
            "I saw child number 0.", "Noted.", thread="child"
        )  # the parent has locked its own
        print("child wrote", flush=True)
        os._exit(0)
    print("parent committed", flush=True)


def amidst(store: PostgresStorage, memory: TidalMemory) -> None:
    def write(name: str) -> None:
        for number in range(TURNS):
            turn(memory, name, number)

    threads = [Thread(target=write, args=(f"thread-{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for number in range(CHILDREN):
        child = os.fork()
        if not child:
            turn(memory, f"child-{number}")
            os._exit(0)
        ended(child)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    store = PostgresStorage(sys.argv[2])
    with TidalMemory(storage=store, embedder=HashingEmbedder(), settings=QUIET) as memory:
        turn(memory, "before")
        {"both": both, "inside": inside, "amidst": amidst}[sys.argv[1]](store, memory)
    store.close()
