"""The suite that every storage engine must pass.

A new engine subclasses :class:`StoreContract` in its tests and says how to open a store::

    class TestMyEngine(StoreContract):
        @pytest.fixture
        def open_store(self, tmp_path):
            return lambda: MyStorage(tmp_path / "memory")  # every call: another handle on the same store
"""

from tidal_plugins.testing.columns import ColumnsContract
from tidal_plugins.testing.documents import DocumentContract
from tidal_plugins.testing.entries import EntryContract
from tidal_plugins.testing.links import LinkContract
from tidal_plugins.testing.log import LogContract
from tidal_plugins.testing.renewal import RenewalContract
from tidal_plugins.testing.scopes import ScopeContract
from tidal_plugins.testing.search import SearchContract
from tidal_plugins.testing.transactions import TransactionContract


class StoreContract(
    EntryContract,
    SearchContract,
    ColumnsContract,
    RenewalContract,
    LinkContract,
    LogContract,
    DocumentContract,
    ScopeContract,
    TransactionContract,
):
    """The behaviour of every storage engine, as tests."""
