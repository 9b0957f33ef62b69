"""Jobs and answers of client scripts."""

import json
import sys
import traceback


def answer_all(run, answers):
    """Runs the jobs in the file given on the command line; writes one line of JSON per job to `answers`."""
    with open(sys.argv[1], encoding="utf-8") as file:
        jobs = json.load(file)
    for job in jobs:
        try:
            answer = run(job)
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)
