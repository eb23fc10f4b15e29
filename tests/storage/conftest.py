import pytest

pytest.register_assert_rewrite("tidal_plugins.testing")
