"""Builds libgemm with Go and puts it into the wheel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

ROOT = Path(__file__).resolve().parent
LIBRARY = "libgemm.dylib" if sys.platform == "darwin" else "libgemm.so"


class GoBuild(BuildHookInterface[Any]):
    """The hook that hatchling calls before it writes the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            sys.exit("gemm-suite: an editable installation has no library: install it with pip install ./python")
        library = Path(self.directory) / LIBRARY
        build(library)
        build_data["force_include"][str(library)] = f"gemm_suite/{LIBRARY}"
        build_data["force_include"][str(ROOT.parent / "LICENSE")] = "gemm_suite/LICENSE"
        build_data["pure_python"] = False
        # Any Python 3, and this system: the library was linked with the C library of this host, and
        # runs with that and newer ones, which is what the first tag of manylinux says.
        tags = list(platform_tags())
        build_data["tag"] = f"py3-none-{next((t for t in tags if t.startswith('manylinux')), tags[0])}"


def build(library: Path) -> None:
    """Builds the library. What is missing is named in one line."""
    clone = ROOT.parent
    script = clone / "scripts" / "lib.sh"
    if not script.exists():
        sys.exit("gemm-suite: the Go source of libgemm is not next to the folder python: install from a clone")
    go = os.environ.get("GO") or "go"
    if shutil.which(go) is None:
        sys.exit(f"gemm-suite: {go} is not installed, and libgemm is written in Go: install Go from go.dev")
    # The revision is added unless git is missing or does not trust the owner of the folder.
    git = shutil.which("git")
    revision = git and subprocess.run([git, "rev-parse", "HEAD"], cwd=clone, capture_output=True).returncode == 0
    done = subprocess.run([str(script), str(library), f"-buildvcs={str(bool(revision)).lower()}"])
    if done.returncode != 0:
        sys.exit(f"gemm-suite: {script.name} failed with status {done.returncode}")
