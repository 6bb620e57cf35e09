"""Pictures of phones, printers and cameras: read as they should be, or named with what to do."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from backend.datasets.inspection.findings import DataFindings
from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.images import decode_image
from backend.datasets.sharding.cut import CutPlan, cut
from backend.errors import DataError
from backend.numerics.preprocess.declared import Preprocess
from tests.support.tasks.owner_files import png, zip_bytes, zipped
from tests.unit.datasets.inspection.test_inspect_file import cut_as_proposed

HEIC = b"\x00\x00\x00\x18ftypheic" + bytes(40)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def moving(kind: str) -> bytes:
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue", "green")]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True)


def looked(folder: Path, **members: bytes) -> DataFindings:
    named = {name.replace("_", "/", 1).replace("_", "."): content for name, content in members.items()}
    plain = {f"{kind}/{n}.png": png(seed=n) for kind in ("cat", "dog") for n in range(2)}
    return inspect_file(zipped(folder / "d.zip", plain | named), ModelInput(), folder)


@pytest.mark.parametrize(("kind", "suffix"), [("GIF", "gif"), ("WEBP", "webp"), ("PNG", "png")])
def test_the_first_picture_of_an_animation_is_used_and_told(tmp_path: Path, kind: str, suffix: str) -> None:
    content = moving(kind)
    findings = looked(tmp_path, **{f"cat_m_{suffix}": content, f"dog_m_{suffix}": content})
    sentence = f"cat/m.{suffix} moves: the first of its pictures is used. So do 1 more."
    assert sentence in findings.notes
    red = decode_image(content)[0][4, 4]
    assert red[0] > 200 > 50 > red[2]
    assert cut_as_proposed(tmp_path / "d.zip", findings, tmp_path / "shards") == {"cat": 3, "dog": 3}


def test_colours_of_print_become_those_of_screens(tmp_path: Path) -> None:
    content = saved(Image.new("CMYK", (9, 9), (0, 255, 255, 0)), "JPEG", quality=95)
    findings = looked(tmp_path, cat_c_jpg=content)
    assert "cat/c.jpg has the colours of print (CMYK), which become red, green and blue." in findings.notes
    red = decode_image(content)[0][4, 4]
    assert red[0] > 200 > 50 > max(red[1], red[2])


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    levels = np.full((9, 9), 0x8123, np.uint16)
    content = saved(Image.fromarray(levels), "PNG")
    findings = looked(tmp_path, dog_d_png=content)
    assert "dog/d.png has 16 bits a channel, of which the upper 8 are used." in findings.notes
    assert decode_image(content)[0][4, 4].tolist() == [0x81, 0x81, 0x81, 255]


def test_pictures_of_phones_are_named_with_what_to_do(tmp_path: Path) -> None:
    findings = looked(tmp_path, cat_IMG1_heic=HEIC, cat_IMG2_HEIC=HEIC, dog_x_tiff=b"II*\x00")
    assert findings.notes[0].startswith("cat/IMG1.heic and 1 more are HEIC, which many browsers cannot read")
    assert "save them as JPEG" in findings.notes[0]
    assert findings.notes[1].startswith("dog/x.tiff is of a kind")
    with pytest.raises(DataError, match="HEIC, whatever its name ends in; save it as JPEG"):
        decode_image(HEIC)


def test_a_zip_of_nothing_but_phone_pictures_or_zips_is_refused_by_their_names(tmp_path: Path) -> None:
    alone = zipped(tmp_path / "e.zip", {"cat/1.heic": HEIC, "dog/2.heic": HEIC})
    with pytest.raises(DataError, match=r"cat/1.heic and 1 more are HEIC"):
        inspect_file(alone, ModelInput(), tmp_path)
    nested = zipped(tmp_path / "n.zip", {"all/inner.zip": zip_bytes({"cat/1.png": png()})})
    with pytest.raises(DataError, match=r"all/inner.zip is packed once more and not opened: unpack"):
        inspect_file(nested, ModelInput(), tmp_path)


def test_a_zip_beside_pictures_is_named(tmp_path: Path) -> None:
    findings = looked(tmp_path, more_birds_zip=zip_bytes({"bird/1.png": png()}))
    assert findings.notes[0].startswith("more/birds.zip is packed once more and not opened")


def test_a_broken_picture_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    findings = looked(tmp_path, cat_broken_png=png()[:60])
    assert any("cat/broken.png" in note and "save it again" in note for note in findings.notes)
    declared = msgspec.convert(findings.preprocess, Preprocess)
    broken: list[DataError] = []
    plan, shards = CutPlan(declared, holdout=0.0), tmp_path / "shards"
    shards.mkdir()
    cut(tmp_path / "d.zip", plan, shards, None, broken.append, lambda _: None)
    assert ["cat/broken.png" in str(error) for error in broken] == [True]
