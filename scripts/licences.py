"""Copies the licence files of all crates that are linked into the programs, from cargo's metadata on
standard input, into a directory; a crate without such a file is listed with the licence it declares."""

import json
import pathlib
import shutil
import sys

target = pathlib.Path(sys.argv[1])
metadata = json.load(sys.stdin)
lines = []
for package in sorted(metadata["packages"], key=lambda one: (one["name"], one["version"])):
    if package["source"] is None:
        continue
    name = f"{package['name']}-{package['version']}"
    lines.append(f"{name}: {package['license'] or package['license_file']}")
    dir = pathlib.Path(package["manifest_path"]).parent
    for file in sorted(dir.iterdir()):
        if file.is_file() and file.name.upper().startswith(("LICEN", "COPYING", "NOTICE", "COPYRIGHT")):
            shutil.copyfile(file, target / f"{name}.{file.name}")
(target / "LICENCES.txt").write_text("\n".join(lines) + "\n")
