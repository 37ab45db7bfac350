"""docs/python.md: its blocks run, one after the other, as a reader would type them."""

import os
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_every_block_of_the_chapter_runs(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.S)
    assert len(blocks) >= 6
    shutil.copytree(ROOT / "scenes", tmp_path / "scenes")
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/python.md, block {number + 1}", "exec"), names)
    assert abs(names["angle"] - 0.5) < 0.5  # the controlled arm has come near to what it was told
    assert os.path.exists("out/pendulum/again.html")
