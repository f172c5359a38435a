"""Exit 0 when every `name==version` line of a requirements file is installed in this Python; else names what is not."""

import importlib.metadata
import sys


def missing(path: str) -> list[str]:
    lines = []
    with open(path, encoding="utf-8") as source:
        for line in source:
            pin = line.split("#")[0].strip()
            if not pin:
                continue
            name, _, version = pin.partition("==")
            try:
                installed = importlib.metadata.version(name).split("+")[0]
            except importlib.metadata.PackageNotFoundError:
                installed = "absent"
            if installed != version:
                lines.append(f"{name} {version} ({installed})")
    return lines


if __name__ == "__main__":
    found = missing(sys.argv[1])
    print(", ".join(found))
    sys.exit(1 if found else 0)
