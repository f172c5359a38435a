"""Prints `PASSED FAILED SKIPPED [names of the failed]` of ctest's JUnit file. Exit 1 where the file is not there or holds no test."""

import sys
import xml.etree.ElementTree as ElementTree

try:
    cases = ElementTree.parse(sys.argv[1]).getroot().findall(".//testcase")
except (OSError, ElementTree.ParseError):
    cases = []
if not cases:
    sys.exit(1)
failed, skipped = [], 0
for case in cases:
    if case.get("status") in ("notrun", "disabled") and case.find("failure") is None:
        # ctest also calls "notrun" a test whose program is missing: that one did not pass, and was not skipped by its own word either.
        reason = case.find("skipped")
        text = "" if reason is None else (reason.get("message") or "")
        if case.get("status") == "disabled" or "SKIP" in text.upper():
            skipped += 1
        else:
            failed.append(case.get("name"))
    elif case.get("status") != "run":
        failed.append(case.get("name"))
print(len(cases) - len(failed) - skipped, len(failed), skipped, *failed)
