"""A PNG writer in a few lines, to look at what the environments draw."""

import struct
import zlib


def png(image) -> bytes:
    """The bytes of an RGB image [height, width, 3] as a PNG file."""
    height, width, _ = image.shape
    lines = b"".join(b"\0" + row.tobytes() for row in image)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    )
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
