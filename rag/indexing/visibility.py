"""Visibility: which text of a page a reader can see.

Invisible and white text is dropped; the invisible text over the image of a scanned page is its OCR
layer and stays.
"""

from __future__ import annotations

from typing import Any

_INK_BITS = 16 | 32  # span["char_flags"]: filled, stroked; neither is render mode 3
_NEARLY_WHITE = 0xF4  # each channel at least this bright
_OCR_IMAGE_SHARE = 0.5  # of the page an image must cover for invisible text to be its OCR layer
_MIN_SIZE = 2.0  # points; smaller text cannot be read by people

RawBlock = list[dict[str, Any]]  # the lines of one block, as PyMuPDF gives them


def visible_blocks(page: Any, blocks: list[RawBlock]) -> list[RawBlock]:
    """Blocks without spans nobody can see: invisible ink, white on white, tiny."""
    unseen = [span for block in blocks for line in block for span in line["spans"] if _odd(span)]
    if not unseen:
        return blocks
    scanned = any(_without_ink(span) for span in unseen) and _is_scan(page)
    dark = _dark_areas(page) if any(_white(span) for span in unseen) else []

    def hidden(span: dict[str, Any]) -> bool:
        if not _odd(span):
            return False
        if _without_ink(span):
            return not scanned
        return span["size"] < _MIN_SIZE or not any(_inside(span["bbox"], area) for area in dark)

    return [
        [{**line, "spans": [span for span in line["spans"] if not hidden(span)]} for line in block]
        for block in blocks
    ]


def _odd(span: dict[str, Any]) -> bool:
    return _without_ink(span) or _white(span) or span["size"] < _MIN_SIZE


def _without_ink(span: dict[str, Any]) -> bool:
    return bool(not span["char_flags"] & _INK_BITS or span["alpha"] == 0)


def _white(span: dict[str, Any]) -> bool:
    colour: int = span["color"]
    return min(colour >> 16 & 255, colour >> 8 & 255, colour & 255) >= _NEARLY_WHITE


def _is_scan(page: Any) -> bool:
    area = page.mediabox.width * page.mediabox.height
    boxes = [info["bbox"] for info in page.get_image_info()]
    covered = sum((box[2] - box[0]) * (box[3] - box[1]) for box in boxes)
    return bool(covered >= _OCR_IMAGE_SHARE * area)


def _dark_areas(page: Any) -> list[tuple[float, float, float, float]]:
    """Boxes of coloured fills and of images, on which white letters can be read."""
    fills = [
        tuple(drawing["rect"])
        for drawing in page.get_drawings()
        if drawing.get("fill") and min(drawing["fill"]) < _NEARLY_WHITE / 255
    ]
    return fills + [tuple(info["bbox"]) for info in page.get_image_info()]


def _inside(box: tuple[float, ...], area: tuple[float, ...]) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return area[0] <= x <= area[2] and area[1] <= y <= area[3]
