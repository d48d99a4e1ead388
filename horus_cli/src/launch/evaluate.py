"""Evaluates a launch file, and prints the structure that it defines as JSON."""

import json
import os
import runpy
import sys
import traceback

REPLY = os.fdopen(os.dup(1), "w", encoding="utf-8")


def evaluate(path):
    """Returns the value of the variable `launch`, or what the function of that name returns."""
    launch = runpy.run_path(path).get("launch")
    if launch is None:
        raise LookupError("it defines no 'launch', a dictionary or a function that returns one")
    return launch() if callable(launch) else launch


def describe(error, path):
    """Returns an error as one line, with the last line of the file that led to it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == path]
    if isinstance(error, SyntaxError) and error.filename == path:
        lines.append(error.lineno)
    text = " ".join(str(error).split())
    name = type(error).__name__
    text = text if isinstance(error, LookupError) and not lines else f"{name}: {text}"
    return f"line {lines[-1]}: {text}" if lines else text


def main():
    """Answers with one object: `launch`, or `error`."""
    path = sys.argv[1]
    sys.argv = [path]
    # As for a program: modules beside the file can be imported.
    sys.path.insert(0, os.path.dirname(path))
    try:
        reply = json.dumps({"launch": evaluate(path)}, default=os.fspath, allow_nan=False)
    except (Exception, SystemExit) as error:
        reply = json.dumps({"error": describe(error, path)})
    REPLY.write(reply)
    REPLY.close()


# WHY: what the file prints is for people, and must not mix with the reply.
os.dup2(2, 1)
main()
