"""Messages kept in one file, to be read as a whole. `PDRM_GOLDEN=write pytest …` writes the file anew: then read the difference."""

import os
import re


def parse_golden(text):
    """Name -> message."""
    parts = re.split(r"^=== (.+)\n", text, flags=re.MULTILINE)[1:]
    return {
        name: message.removesuffix("\n\n") + "\n"
        for name, message in zip(parts[::2], parts[1::2], strict=True)
    }


def check_golden(file, found):
    """The messages found are those in the file."""
    text = "".join(f"=== {name}\n{message.rstrip()}\n\n" for name, message in found.items())
    if os.environ.get("PDRM_GOLDEN") == "write":
        file.write_text(text)
    assert parse_golden(text) == parse_golden(file.read_text())


def places_of(message):
    """The codes of a message's errors with their places, one a line."""
    found = []
    for code, place in re.findall(r"error\[(E\d{4})\]|^ +--> (.+)$", message, re.MULTILINE):
        if code:
            found.append(code)
        else:
            found[-1] += f" {place.rpartition('/')[2]}"
    return "\n".join(found)
