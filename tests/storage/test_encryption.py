"""Encrypted files. The cases run in a process of its own, with an SQLite that has ciphers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidal_plugins import HashingEmbedder, InvalidInput, StorageError, TidalMemory

CIPHERS = Path(sys.prefix, "ciphers")
"""Where ``make test`` puts apsw-sqlite3mc, beside the apsw of the environment."""
CASES = Path(__file__).with_name("encryption_cases.py")


@pytest.mark.slow
def test_files_are_encrypted_with_an_sqlite_that_has_ciphers():
    if not CIPHERS.is_dir():
        pytest.skip(f"apsw-sqlite3mc is not in {CIPHERS}; make test installs it")
    path = os.pathsep.join([str(CIPHERS), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", str(CASES)]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stdout[-5_000:]
    assert "skipped" not in ran.stdout


def test_without_ciphers_a_key_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(StorageError, match="apsw-sqlite3mc"):
        TidalMemory(tmp_path / "memory.db", key=lambda: "a long passphrase", embedder=HashingEmbedder())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", ["a long passphrase", b"0" * 32, 7])
def test_a_key_comes_from_a_function(tmp_path, key):
    with pytest.raises(InvalidInput, match="function"):
        TidalMemory(tmp_path / "memory.db", key=key, embedder=HashingEmbedder())
    assert not list(tmp_path.iterdir())


def test_only_a_file_has_a_key():
    with pytest.raises(InvalidInput, match="with a path"):
        TidalMemory("memory://", key=lambda: "a long passphrase", embedder=HashingEmbedder())
