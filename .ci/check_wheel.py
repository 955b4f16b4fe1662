"""Check that a built wheel has exactly the files that git tracks in the packages."""

import subprocess
import sys
import zipfile
from pathlib import Path

SOURCES = {
    "hearts_env/": "hearts_env/",
    "agents/hearts_agents/": "hearts_agents/",
    "train/hearts_train/": "hearts_train/",
    "configs/": "hearts_train/configs/",
}
"""The folders of the checkout and their places in the wheel."""

tracked = subprocess.run(
    ["git", "ls-files"],
    cwd=Path(__file__).resolve().parents[1],
    check=True,
    capture_output=True,
    text=True,
).stdout.splitlines()
expected = {
    new + name.removeprefix(old)
    for name in tracked
    for old, new in SOURCES.items()
    if name.startswith(old)
}
with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    metadata = {name.partition(".dist-info/")[2] for name in wheel.namelist()} - {""}
if missing := sorted(expected - names):
    sys.exit(f"the wheel lacks {missing}")
if foreign := sorted(names - expected):
    sys.exit(f"the wheel has files that git does not track: {foreign}")
licenses = {"licenses/LICENSE", "licenses/train/hearts_train/web/data/courts-LICENSE.txt"}
needed = {"METADATA", "RECORD", "WHEEL", "entry_points.txt"} | licenses
if metadata != needed:
    sys.exit(f"the wheel's metadata are {sorted(metadata)}, not {sorted(needed)}")
print(f"{len(names)} files in the wheel, as git tracks them")
