"""Format a profile of ranks as records, as CSV, and as a picture.

Page: docs/claims/capacity.md
"""

import csv
import io
from typing import Any

from byheart.report.drawing import box, cell, figure, words
from constructions.attention.capacity.rank_profile import RankCell, RankProfile
from constructions.counted import counted

_LETTER, _ROOM, _HIGH = 7.6, 14, 34  # of a cell: the width of a letter and around them, the height
_LEFT, _TOP, _BETWEEN, _BOTTOM = 60, 58, 78, 46
_STRENGTH = 0.55  # of the colour of the largest rank


def profile_records(profile: RankProfile) -> list[dict[str, Any]]:
    """Return the cells as plain JSON data."""
    return [{**vars(rank_cell), "printed_fails": rank_cell.printed_fails} for rank_cell in profile.cells]


def profile_csv(profile: RankProfile) -> str:
    """Return the cells as a table with a header.

    Example:
        >>> cells = (RankCell(4, 1, False, 3, 3, 4, "Theorem G3 on 4 of the contexts"),)
        >>> print(profile_csv(RankProfile(4, 4, cells)))
        d_head,n_heads,with_skip,lower,upper,printed,proof,printed_fails
        4,1,False,3,3,4,Theorem G3 on 4 of the contexts,True
        <BLANKLINE>
    """
    records, text = profile_records(profile), io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def profile_picture(profile: RankProfile) -> str:
    """Draw the ranks without the skip connection above those with it.

    A cell holds the rank that is proved, or its two bounds, and in brackets the printed count; where that is proved to
    be too large, the cell has a frame. The darker, the larger the rank.

    Returns:
        An ``<svg>`` element.

    Example:
        >>> cells = tuple(RankCell(1, 1, skip, 2, 2, 2, "the shape") for skip in (False, True))
        >>> profile_picture(RankProfile(4, 1, cells)).count("<rect")
        2
    """
    parts, top = [], float(_TOP)
    wide = _ROOM + _LETTER * max(len(_text(rank_cell)) for rank_cell in profile.cells)
    for with_skip, name in ((False, "heads alone"), (True, "with the skip connection")):
        table = profile.table(with_skip=with_skip)
        if not table:
            continue
        count = f"min(T, H d_h{' + d' * with_skip})"
        parts.append(words(_LEFT, top - 32, f"{name}; in brackets the printed {count}", anchor="start", size=13))
        parts.append(words(_LEFT - 8, top - 8, "d_h \\ H", "faint", "end", 12))
        for column, rank_cell in enumerate(table[0]):
            parts.append(words(_LEFT + (column + 0.5) * wide, top - 8, str(rank_cell.n_heads), "faint", size=12))
        for line, row in enumerate(table):
            y = top + line * _HIGH
            parts.append(words(_LEFT - 8, y + 0.62 * _HIGH, str(row[0].d_head), "faint", "end", 12))
            for column, rank_cell in enumerate(row):
                parts += _drawn(rank_cell, _LEFT + column * wide, y, wide, profile.n_contexts)
        top += len(table) * _HIGH + _BETWEEN
    high, across = top - _BETWEEN, _LEFT + 16 + wide * len({rank_cell.n_heads for rank_cell in profile.cells})
    caption = f"{counted(profile.n_contexts, 'context')}, d = {profile.d_model}; framed: the printed count is too large"
    parts.append(words(_LEFT, high + 28, caption, "faint", "start", 12))
    title = (
        f"The largest rank of the features of {counted(profile.n_contexts, 'context')}, by width and number of heads"
    )
    return figure(title, max(across, 460.0), high + _BOTTOM, parts)


def _drawn(each: RankCell, x: float, y: float, wide: float, most: int) -> list[str]:
    """Return a cell with its numbers."""
    inside = x + 2, y + 2, wide - 4, _HIGH - 4
    shown = [cell(*inside, "on-second" if each.printed_fails else "on-first", _STRENGTH * each.lower / most)]
    if each.printed_fails:
        shown.append(box(*inside, "second thin", 0))
    return [*shown, words(x + wide / 2, y + 0.62 * _HIGH, _text(each), size=13)]


def _text(each: RankCell) -> str:
    return f"{each.words} ({each.printed})"
