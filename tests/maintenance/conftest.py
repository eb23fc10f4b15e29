from __future__ import annotations

import pytest

from tidal_plugins import TidalMemory
from tidal_plugins.dossiers.dossier import Dossiers


@pytest.fixture
def dossiers(memory: TidalMemory) -> Dossiers:
    return memory._services.dossiers(memory.scope)
