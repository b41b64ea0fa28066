#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sum_tests.py BROKEN LOG...: adds meson's test logs up, one log a build. First skipped tests, why, and in which builds; then
those that no build covered, by subject; then those left to scripts/test --long; then those that took longest, and what all
took, by build; then failed ones, by name, and last "N passed, N failed, N skipped": of a long log people see the end.
BROKEN counts steps that failed before any test could; each is a failure. Exit 1 if anything failed or nothing ran.
sum_tests.py --cases LOG: one line for each case within the tests of a log."""
import argparse
import collections
import json
import os
import pathlib
import re
import sys

PASSED = {'OK', 'EXPECTEDFAIL'}
SKIPPED = {'SKIP', 'IGNORED'}
# cmocka's words for one case; its own totals do not match.
CASE = re.compile(r'^\[ +(OK|FAILED|SKIPPED|ERROR) +\] (\w+)$', re.MULTILINE)
REASON = re.compile(r'^(?:SKIPPED: (.*)|(.*): skipped)$', re.MULTILINE)
FILE = re.compile(r'^# (\S+): [\d.]+ s of processor time$|^# (\S+)$', re.MULTILINE) # tests/unit/run.c: what follows is of it
FAILED = re.compile(r'^FAILED: (.*)$', re.MULTILINE) # the same: a file, and its tests that failed
LEFT_OUT = re.compile(r'^LEFT OUT: (.*)$', re.MULTILINE) # tests/sim/harness.py: long_run()
FOR_LONG = 'scripts/test --long runs it'
LONGEST = 12 # tests of a build whose times are printed
TESTS = pathlib.Path(__file__).resolve().parent.parent / 'tests'


def tests(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def output(test):
    return test.get('stdout', '') + '\n' + test.get('stderr', '')


def short(test):
    """Without the project's name: "rocelab:sim / bench" is "sim / bench"."""
    return test['name'].split(':')[-1]


def cases(test):
    """(name, result, the output before it) of the cases within a test; of a folder's program, a name has the file's."""
    words = output(test)
    files = [(file.start(), f'{file[1] or file[2]}: ') for file in FILE.finditer(words)]
    for case in CASE.finditer(words):
        while len(files) > 1 and files[1][0] < case.start():
            del files[0]
        prefix = files[0][1] if files and files[0][0] < case.start() else ''
        yield prefix + case[2], case[1], words[:case.start()]


def list_cases(path):
    for test in tests(path):
        for case, result, _ in cases(test):
            print(f'{result.lower()}: {test["name"].split(" / ")[-1]}: {case}')


def reason(words):
    """The last one given in these words."""
    found = REASON.findall(words)
    return ''.join(found[-1]) if found else 'no reason given'


def about(name):
    """Subject of a skipped test: the first sentence of its file; of a case, its name."""
    suite, _, test = name.partition(' / ')
    for path in sorted((TESTS / suite).glob(f'{test}*')):
        observed = re.search(r'(?:"""|^# (?!SPDX))([^"\n]+)', path.read_text(encoding='utf-8'), re.MULTILINE)
        if observed:
            return ': ' + re.split(r'(?<=[.?;])\s', observed.group(1).strip())[0]
    return ''


def runs(test):
    """(name, whether it ran, why not) of the cases within a test, then of itself."""
    for case, result, before in cases(test):
        yield f'{short(test)}: {case}', result != 'SKIPPED', reason(before)
    yield short(test), test['result'] not in SKIPPED, reason(output(test))


def print_times(build, all_tests):
    """Of tests side by side, each has the time that it waits for the processor, too."""
    longest = sorted(all_tests, key=lambda test: -test['duration'])[:LONGEST]
    print(f'{build}: {sum(test["duration"] for test in all_tests):.0f} s in {len(all_tests)} tests, longest: ' +
          ', '.join(f'{short(test).split(" / ")[-1]} {test["duration"]:.0f}' for test in longest))


def totals(broken, paths):
    passed, skipped = 0, 0
    failed = []                              # a line for each
    ran = set()                              # names that some build ran
    left_out = collections.defaultdict(list) # (name, why): builds
    for_long = collections.defaultdict(list) # (name, what): builds
    for path in paths:
        build = path.split(os.sep)[-3]
        for test in tests(path):
            for what in LEFT_OUT.findall(output(test)):
                for_long[short(test), what].append(build)
            for name, has_run, why in runs(test):
                if has_run:
                    ran.add(name)
                elif why != FOR_LONG:
                    left_out[name, why].append(build)
            skipped += test['result'] in SKIPPED
            passed += test['result'] in PASSED
            if test['result'] not in PASSED | SKIPPED:
                failed.append(': '.join([f'failed: {build}: {short(test)}: {test["result"]}', *FAILED.findall(output(test))]))
    for (name, why), builds in left_out.items():
        print(f'skipped: {", ".join(builds)}: {name}: {why}')
    for name in dict.fromkeys(name for name, _ in left_out):
        if name not in ran:
            print(f'not covered: {name}{about(name)}')
    same = collections.defaultdict(list)     # (builds, what): names
    for (name, what), builds in for_long.items():
        same[tuple(builds), what].append(name)
    for (builds, what), names in same.items():
        print(f'left to scripts/test --long: {", ".join(builds)}: {", ".join(names)}: {what}')
    for path in paths:
        print_times(path.split(os.sep)[-3], tests(path))
    failed += ['failed: a step before any test of it, see above'] * broken
    print(*failed, f'{passed} passed, {len(failed)} failed, {skipped} skipped', sep='\n')
    return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--cases', metavar='LOG', help='list the cases of this log instead')
    parser.add_argument('broken', metavar='BROKEN', nargs='?', type=int)
    parser.add_argument('logs', metavar='LOG', nargs='*')
    given = parser.parse_args()
    if (given.cases is None) == (given.broken is None):
        parser.error('give BROKEN and logs, or --cases LOG')
    if given.cases is not None:
        list_cases(given.cases)
    else:
        sys.exit(totals(given.broken, [path for path in given.logs if os.path.exists(path)]))


main()
