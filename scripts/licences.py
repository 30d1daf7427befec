"""Copies the licence files of all crates that are linked into the programs, from cargo's metadata on
standard input, into a directory; a crate without such a file is listed with the licence it declares."""

import json
import pathlib
import shutil
import sys

into = pathlib.Path(sys.argv[1])
metadata = json.load(sys.stdin)
declared = []
for package in sorted(metadata["packages"], key=lambda one: (one["name"], one["version"])):
    if package["source"] is None:
        continue
    name = f"{package['name']}-{package['version']}"
    declared.append(f"{name}: {package['license'] or package['license_file']}")
    dir = pathlib.Path(package["manifest_path"]).parent
    for file in sorted(dir.iterdir()):
        if file.is_file() and file.name.upper().startswith(("LICEN", "COPYING", "NOTICE", "COPYRIGHT")):
            shutil.copyfile(file, into / f"{name}.{file.name}")
(into / "LICENCES.txt").write_text("\n".join(declared) + "\n")
