"""Prints, as one JSON object, where an installed Torch and the things its C++ API needs are. Exit 1 where there is no Torch.

Does not import torch (1.4 s, and it would load CUDA): the package's own version file and the folder layout are enough.
"""

import glob
import importlib.util
import json
import os
import sys
import sysconfig


def first(*patterns: str) -> str:
    for pattern in patterns:
        hits = sorted(glob.glob(pattern))
        if hits:
            return hits[0]
    return ""


spec = importlib.util.find_spec("torch")
if spec is None or not spec.origin:
    sys.exit(1)
torch_dir = os.path.dirname(spec.origin)
site = os.path.dirname(torch_dir)
if not os.path.exists(os.path.join(torch_dir, "lib", "libtorch_cpu.so")):
    sys.exit(1)
version: dict = {}
with open(os.path.join(torch_dir, "version.py"), encoding="utf-8") as source:
    exec(source.read(), version)  # torch/version.py: plain assignments

libdir = sysconfig.get_config_var("LIBDIR") or ""
soname = sysconfig.get_config_var("INSTSONAME") or ""
multiarch = sysconfig.get_config_var("MULTIARCH") or ""
libpython = ""
if ".so" in soname:
    libpython = first(os.path.join(libdir, soname), os.path.join(libdir, multiarch, soname), f"/usr/lib/{multiarch}/{soname}")
python_include = sysconfig.get_paths()["include"]

cuda_header = first(
    "/usr/local/cuda/include/cuda_runtime_api.h", f"{site}/nvidia/*/include/cuda_runtime_api.h", "/usr/include/cuda_runtime_api.h"
)
nccl_header = first(f"{site}/nvidia/nccl/include/nccl.h", "/usr/include/nccl.h", "/usr/local/cuda/include/nccl.h")
json.dump(
    {
        "executable": sys.executable,
        "torch_dir": torch_dir,
        "torch_version": str(version.get("__version__", "unknown")),
        "cxx11_abi": 1,
        "nvidia_dirs": ":".join(sorted(glob.glob(f"{site}/nvidia/*/lib"))),
        "cuda_include": os.path.dirname(cuda_header),
        "nccl_include": os.path.dirname(nccl_header),
        "cupti_include": os.path.dirname(first("/usr/local/cuda/include/cupti.h", "/usr/local/cuda/extras/CUPTI/include/cupti.h",
                                               f"{site}/nvidia/*/include/cupti.h")),
        "cupti": first(f"{site}/nvidia/*/lib/libcupti.so.*", "/usr/local/cuda/lib64/libcupti.so",
                       "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"),
        "cudart": first(f"{site}/nvidia/*/lib/libcudart.so.*", "/usr/local/cuda/lib64/libcudart.so"),
        "python_include": python_include if os.path.exists(os.path.join(python_include, "Python.h")) else "",
        "libpython": libpython,
    },
    sys.stdout,
)
