"""Convert the settings of recorded runs: `discount` was called `gamma`, and no clipping of rewards was null."""

import json
from pathlib import Path

for path in sorted(Path("src/pdrm/experiments/paper/recorded").glob("water-*.json")):
    record = json.loads(path.read_text(encoding="utf-8"))
    settings = record.get("settings")
    if not settings:
        continue
    if "gamma" in settings:
        settings["discount"] = settings.pop("gamma")
    if "reward_clip" in settings and settings["reward_clip"] is None:
        settings["reward_clip"] = 1e9
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
