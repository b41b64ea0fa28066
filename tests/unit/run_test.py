#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run_test.py PROGRAM: whether a program of unit tests ends with the names of what failed, and of what did not end when its
time was up."""
import os
import signal
import subprocess
import sys

PROGRAM = sys.argv[1]
ENVIRONMENT = {**os.environ, 'CMOCKA_MESSAGE_OUTPUT': 'STDOUT', 'ASAN_OPTIONS': 'handle_abort=0'}


def check(what, found, expected):
    assert found == expected, f'{what}: {found!r}, not {expected!r}'


def lines(text):
    return sorted(line for line in text.splitlines() if line.startswith('FAILED: '))


def start(*arguments, passed=(), **environment):
    return subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**ENVIRONMENT, **environment}, start_new_session=True, pass_fds=passed)


def all_of_them():
    run = start()
    out, err = run.communicate()
    check('exit code', run.returncode, 1)
    check('failed', lines(err), ['FAILED: breaks: ended by Aborted: in broken', 'FAILED: fails: wrong'])
    check('last lines', err.splitlines()[-2:], [line for line in err.splitlines() if line.startswith('FAILED: ')])
    check('the output of a failure is at the end', ('[ RUN      ] wrong' in out, '[ RUN      ] wrong' in err), (False, True))
    check('the output of what passed is before', ('# passes: ' in out, '[       OK ] well' in out), (True, True))
    check('sum', out.splitlines()[-1], '# 4 files, 2 failed, 0 not begun')


def what_hangs():
    """As meson does where the time is up, every process of the session is ended; and as kill does, the runner alone."""
    for end in (os.killpg, os.kill):
        read, write = os.pipe()
        run = start(passed=[write], RUN_RIG_HANGS=str(write))
        check('begun', os.read(read, 1), b'h')
        end(run.pid, signal.SIGTERM)
        out, err = run.communicate()
        check('exit code', run.returncode, 1)
        check('hung', [line for line in lines(err) if 'hangs' in line], ['FAILED: hangs: still running: in endless'])


def one_of_them():
    for name, code in (('passes', 0), ('fails', 1), ('nothing', 2)):
        run = start(name)
        out, err = run.communicate()
        check(f'exit code of {name}', run.returncode, code)
    check('names', err, 'no test "nothing"; there are: passes fails breaks hangs\n')


all_of_them()
what_hangs()
one_of_them()
