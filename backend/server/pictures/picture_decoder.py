"""Decodes the pictures that owners upload in a confined process, and encodes their pixels again."""

from __future__ import annotations

import asyncio
import io
import tempfile
from pathlib import Path

from backend.datasets.inspection.owner_picture import check_kind
from backend.errors import BundleError, DataError, RefusedFileError
from backend.numerics.preprocess.image import Pixels
from backend.server.sandbox.data_inspection import prepare_picture
from backend.translation import gettext

MAX_UPLOAD_BYTES = 5_000_000
_QUALITY = 85


class PictureDecoder:
    """Decodes one picture at a time, of all owners."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def decoded(self, content: bytes) -> bytes:
        """Returns a PNG, JPEG or WebP as a small WebP. Raises RefusedFileError with what to do."""
        try:
            check_kind(content)
            async with self._lock:
                return await asyncio.to_thread(_prepared, content)
        except (DataError, BundleError) as error:
            raise RefusedFileError(gettext(str(error))) from error


def _prepared(content: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="minga-picture-") as home:
        data = Path(home) / "picture"
        data.write_bytes(content)
        return _webp(prepare_picture(data, Path(home) / "made"))


def _webp(pixels: Pixels) -> bytes:
    from PIL import Image as Pillow

    written = io.BytesIO()
    Pillow.fromarray(pixels).save(written, "WEBP", quality=_QUALITY)
    return written.getvalue()
