#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""format.py ROOT: clang-format changes no file. Exit 77 (skipped) without clang-format 14: others break lines otherwise."""
import os
import shutil
import subprocess
import sys

import source

FILES_A_PROCESS = 64


def find_program():
    """@return the program and its version, or None"""
    for name in ('clang-format-14', 'clang-format'):
        if shutil.which(name):
            version = subprocess.run([name, '--version'], capture_output=True, text=True, check=False).stdout
            if 'version 14.' in version:
                return name, version
    return None


def main():
    root = sys.argv[1]
    program = find_program()
    if program is None:
        print('clang-format 14 is not installed: skipped')
        sys.exit(77)
    passed = source.Passed('format')
    style = source.read(root, '.clang-format') if os.path.exists(os.path.join(root, '.clang-format')) else ''
    paths = source.files(root, '*.c', '*.h', '*.js')
    keys = {path: source.digest(*program, style, source.own(__file__), os.path.splitext(path)[1], source.read(root, path)) for path in paths}
    new = [path for path in paths if not passed.has(keys[path])]
    bad = False
    for at in range(0, len(new), FILES_A_PROCESS):
        some = new[at:at + FILES_A_PROCESS]
        done = subprocess.run([program[0], '--dry-run', '-Werror', *some], cwd=root, capture_output=True, text=True, check=False)
        sys.stdout.write(done.stdout + done.stderr)
        bad |= done.returncode != 0
        for path in some if done.returncode == 0 else ():
            passed.add(keys[path])
    passed.save()
    if bad:
        sys.exit(1)
    print(f'format: {len(paths)} files, {len(new)} of them changed, 0 findings; {program[0]} -i FILE... lays them out')


main()
