# SPDX-License-Identifier: BSD-3-Clause
"""The programs under trial: found in a build, or built with sanitizers."""
import json
import subprocess
import sys

from programs import Programs

NAMES = ('cli/rocelab', 'dpswitch/dpswitch', 'diag/analyzer')
GUEST_NAMES = (*NAMES, 'rxe-hosts/rxe-host')
OPTIONS = ('-Db_sanitize=address,undefined', '-Doptimization=1')


def is_sanitized(build):
    options = json.loads((build / 'meson-info' / 'intro-buildoptions.json').read_text())
    return any(option['name'] == 'b_sanitize' and 'address' in str(option['value']) for option in options)


def built(root):
    """The sanitizer build of scripts/test, brought up to date. @return its directory, None if that failed"""
    build = root / 'build-test' / 'sanitize'
    commands = [['ninja', '--quiet', '-C', build, *NAMES]]
    if not (build / 'build.ninja').exists():
        commands.insert(0, ['meson', 'setup', build, root, *OPTIONS])
    for command in commands:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f'soak: {command[0]} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}', file=sys.stderr)
            return None
    return build


def find_build(root, given):
    """@param given  a build directory; None: the project's own with sanitizers. @return Programs; None: it printed why"""
    build = given.resolve() if given else built(root)
    if build is None:
        return None
    missing = [name for name in NAMES if not (build / name).exists()]
    if missing:
        print(f'soak: {build} has no {", ".join(missing)}: build it with ninja -C {build}', file=sys.stderr)
        return None
    programs = Programs(build, is_sanitized(build))
    programs.guests, programs.no_guests = find_guests(root, programs)
    return programs


def find_guests(root, programs):
    """Guests run no program with sanitizers. @return (Programs that they run, why there are none)"""
    kernel = subprocess.run([root / 'scripts' / 'rxe-kernel', '--cached'], capture_output=True, check=False)
    if kernel.returncode != 0:
        return None, 'no kernel for guests is cached: scripts/rxe-kernel builds it'
    if not programs.sanitized:
        return programs, ''
    plain = root / 'build-test' / 'plain'
    if not all((plain / name).exists() for name in GUEST_NAMES):
        return None, f'{plain} is not built, which guests would run: scripts/test builds it'
    return Programs(plain, False), ''
