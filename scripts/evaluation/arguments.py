# SPDX-License-Identifier: BSD-3-Clause
"""The one argument of scripts that renew what a page quotes: a build."""
import argparse
import pathlib

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


def build_folder(doc, needs="cli/rocelab"):
    """
    The folder that the command line names, or build/ of the tree. Ends the script with 2 where it has no program.
    @param doc    the script's text, which --help prints
    @param needs  a program of the build
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD_DIRECTORY", nargs="?", type=pathlib.Path, default=SOURCE / "build",
                        help="a build of meson; build/ of the tree if not given")
    build = parser.parse_args().build.resolve()
    if not (build / needs).is_file():
        parser.error(f"{build} has no {needs}: name a folder in which ninja has built the tree")
    return build
