#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tally.py BROKEN LOG...: adds meson's test logs up: what did not pass by name, then "N passed, N failed, N skipped".
BROKEN counts steps that failed before any test could; each is a failure. Exit 1 if anything failed or nothing ran.
tally.py --cases LOG: one line for each case within the tests of a log."""
import json
import os
import re
import sys

PASSED = {'OK', 'EXPECTEDFAIL'}
SKIPPED = {'SKIP', 'IGNORED'}
# cmocka's words for one case; its own totals do not match.
CASE = re.compile(r'^\[ +(OK|FAILED|SKIPPED|ERROR) +\] (\w+)$', re.MULTILINE)


def tests(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def list_cases(path):
    for test in tests(path):
        output = test.get('stdout', '') + '\n' + test.get('stderr', '')
        for result, case in CASE.findall(output):
            print(f'{result.lower()}: {test["name"].split(" / ")[-1]}: {case}')


def tally(broken, paths):
    passed, failed, skipped = 0, broken, 0
    for path in paths:
        build = path.split(os.sep)[-3]
        for test in tests(path):
            if test['result'] in PASSED:
                passed += 1
                continue
            is_skipped = test['result'] in SKIPPED
            skipped += is_skipped
            failed += not is_skipped
            print(f'{"skipped" if is_skipped else "failed"}: {build}: {test["name"]}: {test["result"]}')
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed or not passed else 0


def main():
    if sys.argv[1] == '--cases':
        list_cases(sys.argv[2])
    else:
        sys.exit(tally(int(sys.argv[1]), [path for path in sys.argv[2:] if os.path.exists(path)]))


main()
