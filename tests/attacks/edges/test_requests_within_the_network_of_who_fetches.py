"""Gain: requests of a volunteer's machine to its own network, by the addresses of a task's data."""

from __future__ import annotations

import pytest

from backend.datasets.download import DownloadRequest, public_address
from backend.errors import DataError


@pytest.mark.parametrize("host", ["192.0.0.1", "192.0.0.8", "192.0.0.170"])
def test_no_file_is_fetched_from_a_carriers_own_machines(host: str) -> None:
    with pytest.raises(DataError, match="an address of a local network"):
        public_address(DownloadRequest(f"https://{host}/data.npz", 10))
