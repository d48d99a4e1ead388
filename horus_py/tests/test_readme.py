"""What the README shows runs, in the order in which it stands there."""

from conftest import ROOT


def test_what_the_readme_shows_runs(python):
    parts = (ROOT / "horus_py" / "README.md").read_text().split("```python\n")[1:]
    programs = [part.split("```")[0] for part in parts]
    assert len(programs) >= 3
    printed = python("".join(programs)).splitlines()
    assert printed[1:] == ["[ 0.1 -0.5]", "640 rgb8 0.0 (480, 640, 3)"]
    assert printed[0].startswith("horus.CmdVel(timestamp_ns=")
