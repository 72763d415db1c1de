"""Code without its words."""

from benchmarks.bare_code import bare_code

CODE = '''"""A module."""

LIMIT = 3  # of rows


class Row:
    """A row."""

    def double(self, x):
        """Return twice x."""
        return 2 * x  # twice


def nothing():
    """Do nothing."""
'''


def test_words_do_not_count_and_code_does(tmp_path):
    path = tmp_path / "module.py"

    def bare(text):
        path.write_text(text, encoding="utf-8")
        return bare_code(path)

    expected = bare(CODE)
    assert "Return twice" not in expected
    reworded = CODE.replace("Return twice x.", "Return x, doubled.").replace(
        "of rows", "of all rows"
    )
    assert bare(reworded.replace('    """A row."""\n\n', "")) == expected
    assert bare(CODE.replace("2 * x", "3 * x")) != expected
    assert bare(CODE.replace("LIMIT = 3", "LIMIT = 4")) != expected
