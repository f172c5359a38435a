"""What scripts/setup must know of a Python: `torch VERSION|-`, `embed yes|no` (headers and a shared libpython). Imports nothing heavy."""

import glob
import importlib.util
import os
import sys
import sysconfig


def torch_version() -> str:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return "-"
    folder = os.path.dirname(spec.origin)
    if not os.path.exists(os.path.join(folder, "lib", "libtorch_cpu.so")):
        return "-"
    facts: dict = {}
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as source:
        exec(source.read(), facts)  # torch/version.py: plain assignments
    return str(facts.get("__version__", "-"))


def embeddable() -> bool:
    soname = sysconfig.get_config_var("INSTSONAME") or ""
    libdir = sysconfig.get_config_var("LIBDIR") or ""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    places = [libdir, os.path.join(libdir, multiarch), f"/usr/lib/{multiarch}"]
    header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    return ".so" in soname and os.path.exists(header) and any(glob.glob(os.path.join(place, soname)) for place in places)


if __name__ == "__main__":
    print("torch", torch_version())
    print("embed", "yes" if embeddable() else "no")
    print("version", sys.version.split()[0])
