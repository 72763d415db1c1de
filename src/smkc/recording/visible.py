r"""Visible text: names with every invisible or misleading character escaped.

In: any text. Out: the same, with an escape such as ``\u202e`` in place of control characters, which
steer a terminal, marks of writing direction, which show a name backwards, and characters without a
width or a shape.
"""

import re

# Characters that ``str.isprintable`` accepts although they have no shape: Unicode's
# Default_Ignorable_Code_Point outside of the categories C and Z, and the blank Braille pattern.
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def visible(text: str) -> str:
    r"""Return text in which every character is visible.

    Examples
    --------
    >>> visible("disk\u202egpj.exe"), visible("plain text")
    ('disk\\u202egpj.exe', 'plain text')
    """
    if text.isprintable() and not _SHAPELESS.search(text):
        return text
    return "".join(
        sign if sign.isprintable() and not _SHAPELESS.match(sign) else _escaped(sign)
        for sign in text
    )


def _escaped(sign: str) -> str:
    return (
        sign.encode("ascii", "backslashreplace").decode() if ord(sign) > 255 else repr(sign)[1:-1]
    )
