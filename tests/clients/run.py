"""Runs the client checks; the script `check` installs the clients and then calls this one.

    python run.py --dermis PROGRAM --work FOLDER [--data FOLDER] [--only WORDS] [--list]
"""

import argparse
import os
import sys
import time
import traceback
from pathlib import Path

import check_exchange
import check_fbx
import check_flexible
import check_lod
import check_motion
import check_pack
import check_pose
import check_round_trip
import check_skin
import check_written
from bench import Bench, Failed

GROUPS = [
    check_motion,
    check_written,
    check_fbx,
    check_flexible,
    check_exchange,
    check_round_trip,
    check_skin,
    check_pose,
    check_lod,
    check_pack,
]


def main():
    arguments = parse()
    if arguments.list:
        for group in GROUPS:
            print(group.__doc__.splitlines()[0])
        return 0
    bench = Bench(arguments.dermis.resolve(), arguments.work.resolve(), arguments.data.resolve(), arguments.only)
    if not bench.data.exists():
        print("skipped: there is no folder of real files (--data), so only generated inputs are checked")
    for group in GROUPS:
        print(f"\n{group.__doc__.splitlines()[0]}", flush=True)
        start = time.monotonic()
        try:
            group.run(bench)
        except Failed as failure:
            bench.record(group.__name__, False, str(failure))
        except Exception:
            bench.record(group.__name__, False, traceback.format_exc())
        print(f"     {time.monotonic() - start:.0f} s", flush=True)
    print(f"\n{bench.passed} passed, {bench.failed} failed" + (f", {bench.skipped} skipped" if bench.skipped else ""))
    return 1 if bench.failed else 0


def parse():
    parser = argparse.ArgumentParser(description="Checks files of dermis with independent programs.")
    parser.add_argument("--dermis", type=Path, required=True, help="program under test")
    parser.add_argument("--work", type=Path, required=True, help="folder for intermediate files")
    beside = Path(__file__).parent / "../../../shared/data"
    default = Path(os.environ.get("DERMIS_DATA", beside))
    parser.add_argument("--data", type=Path, default=default, help="folder of real files [default: $DERMIS_DATA]")
    parser.add_argument("--only", default="", help="run only checks whose name contains these words")
    parser.add_argument("--list", action="store_true", help="list the checks without running them")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
