"""Each program in the documents runs, in a process of its own."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

DOCUMENTS = [
    "README.md",
    "docs/actors.md",
    "docs/own-messages.md",
    "docs/python.md",
    "docs/tools.md",
    "horus_py/README.md",
]


def programs():
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text[: match.start()].count("\n") + 1
            yield pytest.param(match.group(1), id=f"{document}:{line}")


@pytest.mark.parametrize("program", list(programs()))
def test_a_program_of_a_document_runs(python, program):
    python(program)


def test_the_example_of_actors_runs(python):
    path = str(ROOT / "horus_py" / "examples" / "actors.py")
    arguments = [path, "--carts", "50", "--deliveries", "200"]
    program = f"import runpy, sys\nsys.argv = {arguments}\nrunpy.run_path({path!r}, {{}}, '__main__')"
    assert "has delivered" in python(program)


@pytest.mark.parametrize("option", ["--carts", "--deliveries"])
def test_the_example_of_actors_refuses_to_do_nothing(directory, option):
    path = ROOT / "horus_py" / "examples" / "actors.py"
    command = [sys.executable, path, option, "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"argument {option}: 0 where at least 1 is wanted" in done.stderr


def test_the_documents_have_programs():
    assert len(list(programs())) >= len(DOCUMENTS)
