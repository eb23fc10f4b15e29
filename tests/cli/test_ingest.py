"""``tidal ingest``: documents are remembered, passed over while they are unchanged, and replaced when they change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pypdf import PdfWriter

from tests.cli.conftest import Tidal


def pdf(text: str) -> bytes:
    """Return a PDF of one page with a text in it."""
    stream = f"BT /F1 12 Tf 40 700 Td ({text}) Tj ET".encode()
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1)
    return out + head + table + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (6, len(out))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a document of each kind."""
    path = tmp_path / "papers"
    (path / "skills" / "flash").mkdir(parents=True)
    (path / ".git").mkdir()
    (path / ".git" / "notes.md").write_text("never to be read")
    (path / "bridge.md").write_text("# Bridge\n\nThe drawbridge opens at noon.\n")
    (path / "old.txt").write_bytes("The caf\xe9 keeps the spare key.".encode("cp1252"))
    (path / "pump.html").write_text(
        "<html><head><title>Pump</title><script>var hidden = 'never read';</script></head><body><nav>Home</nav><main>"
        "<h1>Pump</h1><p>The <b>pump</b> needs&nbsp;oil <code>10W</code>.</p><ul><li>Check it weekly<li>Seal it</ul>"
        "<table><tr><th>Part<th>Price</tr><tr><td>Seal<td>4</tr></table><pre>run\n  pump</pre></main></body></html>"
    )
    (path / "tide.pdf").write_bytes(pdf("High tide floods the cellar."))
    (path / "skills" / "flash" / "SKILL.md").write_text(
        "---\nname: flash-board\ndescription: How to flash the board.\n---\n\nHold BOOT, tap RESET.\n"
    )
    (path / "photo.png").write_bytes(b"\x89PNG")
    return path


@pytest.mark.usefixtures("folder")
def test_each_kind_of_document_is_found_by_its_source(tidal: Tidal) -> None:
    done = tidal("ingest", "papers", "--json")
    assert (done.data["new"], done.data["skipped"], done.code) == (5, [], 0)
    assert done.data["passed_over"] == {".png": 1}

    def source(query: str) -> str:
        return str(tidal("recall", query, "-n", "1", "--json").data["hits"][0]["source"])

    assert source("When does the drawbridge open?") == "papers/bridge.md"
    assert source("spare key") == "papers/old.txt"
    assert source("oil for the pump") == "papers/pump.html"
    assert source("tide in the cellar") == "papers/tide.pdf"
    [skill] = tidal("recall", "flash the board", "--kind", "skill", "--json").data["hits"]
    assert skill["source"] == "papers/skills/flash/SKILL.md"
    assert "café" in tidal("recall", "spare key", "-n", "1").out


def test_one_text_is_remembered(tidal: Tidal) -> None:
    assert tidal("remember", "The gate code is on the fridge.", "--source", "Ada", "--tag", "home").code == 0
    [found] = tidal("recall", "gate code", "--json").data["hits"]
    assert (found["kind"], found["source"], found["text"]) == ("kb", "Ada", "The gate code is on the fridge.")
    assert tidal("remember", "The gate.", "--kind", "poem").code == 2
    assert tidal("remember", " ").code == 2


@pytest.mark.usefixtures("folder")
def test_html_is_read_as_markdown_without_scripts_and_menus(tidal: Tidal) -> None:
    tidal("ingest", "papers/pump.html")
    [hit] = tidal("recall", "pump", "--json").data["hits"]
    text = hit["text"]
    assert text == (
        "# Pump\n\nThe pump needs oil `10W`.\n\n- Check it weekly\n- Seal it\n\n| Part | Price |\n| Seal | 4 |\n\n"
        "```\nrun\n  pump\n```"
    )


def test_what_is_unchanged_is_passed_over_and_what_changed_is_replaced(tidal: Tidal, folder: Path) -> None:
    tidal("ingest", "papers")
    again = tidal("ingest", "papers", "--json").data
    assert (again["new"], again["changed"], again["unchanged"]) == (0, 0, 5)
    (folder / "bridge.md").write_text("# Bridge\n\nThe drawbridge opens at dusk.\n")
    changed = tidal("ingest", "papers", "--json").data
    assert (changed["changed"], changed["unchanged"], changed["removed"]) == (1, 4, 1)
    assert "dusk" in tidal("recall", "drawbridge", "-n", "1").out
    assert "noon" not in tidal("recall", "drawbridge opens at noon").out
    (folder / "bridge.md").write_text("# Bridge\n\nThe drawbridge opens at noon.\n")  # as it once was
    assert tidal("ingest", "papers", "--json").data["changed"] == 1
    assert "noon" in tidal("recall", "drawbridge", "-n", "1").out


def test_a_long_document_keeps_the_parts_that_did_not_change(tidal: Tidal, folder: Path) -> None:
    chapters = [f"# Chapter {n}\n\n" + f"The lamp {n} burns on pier {n}.\n\n" * 400 for n in range(6)]
    (folder / "long.md").write_text("".join(chapters))
    parts = tidal("ingest", "papers/long.md", "--json").data["parts"]
    assert parts > 2
    (folder / "long.md").write_text("".join([*chapters[:-1], "# Chapter 5\n\nThe last lamp is out.\n"]))
    assert tidal("ingest", "papers/long.md", "--json").data["removed"] == 1


def test_files_that_are_gone_are_told_and_removed_on_request(tidal: Tidal, folder: Path) -> None:
    tidal("ingest", "papers")
    (folder / "bridge.md").unlink()
    assert tidal("ingest", "papers", "--json").data["gone"] == ["papers/bridge.md"]
    assert "drawbridge" in tidal("recall", "drawbridge").out
    pruned = tidal("ingest", "papers", "--prune")
    assert "no longer remembered" in pruned.out
    assert "drawbridge" not in tidal("recall", "drawbridge").out
    assert tidal("ingest", "papers", "--json").data["gone"] == []


def test_what_cannot_be_read_is_skipped_with_the_reason(tidal: Tidal, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing else")
    (folder / "binary.txt").write_bytes(b"\0\1\2" * 100)
    (folder / "empty.md").write_text("\n")
    locked = PdfWriter()
    locked.add_blank_page(100, 100)
    locked.write(folder / "blank.pdf")
    assert tidal("ingest", "papers", "--kind", "riddle").code == 2
    done = tidal("ingest", "papers", "nowhere.md", "--json")
    assert done.code == 4
    reasons = {each["file"]: each["reason"] for each in done.data["skipped"]}
    assert reasons.keys() == {
        "nowhere.md", "papers/broken.pdf", "papers/binary.txt", "papers/empty.md", "papers/blank.pdf",
    }  # fmt: skip
    assert "binary" in reasons["papers/binary.txt"]
    assert "images" in reasons["papers/blank.pdf"]
    assert done.data["new"] == 5


@pytest.mark.usefixtures("folder")
def test_a_document_that_was_forgotten_is_not_remembered_again(tidal: Tidal) -> None:
    tidal("ingest", "papers/bridge.md")
    assert tidal("forget", "--source", "papers/bridge.md", "--yes").code == 0
    tidal("ingest", "papers")
    assert "drawbridge" not in tidal("recall", "drawbridge").out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_with_a_name_is_skipped_instead_of_waited_for(tidal: Tidal, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    done = tidal("ingest", "pipe.md", "--json")
    assert done.code == 4
    assert "no file" in done.data["skipped"][0]["reason"]
