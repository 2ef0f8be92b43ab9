"""The changes that the operators make to a source, each a piece of its text and what takes its place."""

import ast
import re
from dataclasses import dataclass

# What a call with one of these names says is a little more or less than its first argument.
OUTWARD = {
    "abs", "decimal_above", "decimal_below", "down", "float_above", "float_below", "lowered", "nextafter", "raised",
    "rounded_outwards", "up", "widened",
}  # fmt: skip
OPPOSITE = {
    "all": "any", "any": "all", "argmax": "argmin", "argmin": "argmax", "ceil": "floor", "floor": "ceil",
    "lower": "upper", "lower_sum": "upper_sum", "max": "min", "maximum": "minimum", "min": "max", "minimum": "maximum",
    "upper": "lower", "upper_sum": "lower_sum",
}  # fmt: skip
NEGATED = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
}  # fmt: skip
FLIPPED = {
    ast.Lt: ("<", ("<=", ">")), ast.LtE: ("<=", ("<", ">")), ast.Gt: (">", (">=", "<")), ast.GtE: (">=", (">", "<")),
}  # fmt: skip
RADIUS = re.compile(r"_*(rad|radius|radii|slack)")
_SHOWN = 100  # characters of what stands around a number
CHECK = re.compile(r"_*(require|check|refuse)")


@dataclass(frozen=True, order=True)
class Change:
    """One change of a source.

    Attributes:
        start: The first character of what is replaced.
        end: The first character behind it.
        after: What takes its place.
        before: The text that is replaced, or the whole line where that alone says little.
        operator: What was done, in words.
        function: The function or class, with those around it; empty at the top of the file.
    """

    start: int
    end: int
    after: str
    before: str
    operator: str
    function: str


def changes(source: str) -> list[Change]:
    """Return every change of a source, in the order of the text; none changes a message, a type or a docstring."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(finder.found)


class _Finder(ast.NodeVisitor):
    """A walk over the nodes of a source that gathers the changes of each."""

    def __init__(self, source: str) -> None:
        self.source, self.found, self.names = source, set[Change](), list[str]()
        self.around: list[ast.AST] = []
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    # Where a node stands.

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._place(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._place(node.end_lineno, node.end_col_offset)

    def _place(self, line: int, column: int) -> int:
        """Return the character at a column, which is counted in bytes."""
        text = self.source[self.lines[line - 1] : self.lines[line]]
        return self.lines[line - 1] + len(text.encode()[:column].decode())

    def _text(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node, in parentheses unless it needs none anywhere."""
        text = self.source[self._start(node) : self._end(node)]
        return text if isinstance(node, ast.Name | ast.Call | ast.Constant | ast.Attribute) else f"({text})"

    def _change(self, node: ast.expr | ast.stmt, after: str, operator: str) -> None:
        self._replace(self._start(node), self._end(node), after, operator)

    def _replace(self, start: int, end: int, after: str, operator: str) -> None:
        before = self.source[start:end]
        if before != after:
            self.found.add(Change(start, end, after, before, operator, ".".join(self.names)))

    def _change_within(self, node: ast.expr, after: str, operator: str) -> None:
        """Show what stands around a number or a name: alone it says little."""
        first, last = self._start(node), self._end(node)
        start, end = first, last
        for parent in reversed(self.around):
            if isinstance(parent, ast.expr | ast.Assign | ast.Return | ast.AugAssign) and parent is not node:
                start, end = self._start(parent), self._end(parent)
                break
        if not start <= first or end - start > _SHOWN:
            start, end = first, last
        self._replace(start, end, f"{self.source[start:first]}{after}{self.source[last:end]}", operator)

    # What is looked at.

    def visit(self, node: ast.AST) -> None:
        self.around.append(node)
        super().visit(node)
        self.around.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.names.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.names.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave a message as it is."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave a message as it is."""

    def visit_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Call):
            if CHECK.match(_name(call.func)):
                self._change(node, "pass", "skip a check")
            self.visit(call)

    def visit_If(self, node: ast.If) -> None:
        if not node.orelse and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break):
            self._change(node.test, "False", "skip a check")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        for chosen in (node.body, node.orelse):
            self._change(node, self._text(chosen), "choose always alike")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._change(condition, "True", "skip a check")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word = " and " if isinstance(node.op, ast.And) else " or "
        for dropped in node.values:
            left = word.join(self._text(value) for value in node.values if value is not dropped)
            self._change(node, f"({left})", "drop a condition")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub) and not isinstance(node.operand, ast.Constant):
            self._change(node, self._text(node.operand), "drop a sign")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        summed = isinstance(node.op, ast.Add | ast.Sub)
        if not any(_is_text(side) for side in (node.left, node.right)) and not isinstance(node.op, ast.BitOr):
            word = "drop a summand" if summed else "drop a factor"
            self._change(node, self._text(node.left), word)
            if isinstance(node.op, ast.Add | ast.Mult):
                self._change(node, self._text(node.right), word)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if not _is_text(node.value):
            self._change(node, "pass", "drop a summand")
        self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, node.comparators, strict=False):
            word, others = FLIPPED.get(type(op)) or (NEGATED[type(op)][0], (NEGATED[type(op)][1],))
            start = self.source.index(word, self._end(left), self._start(right))
            for other in others:
                self._replace_in(node, start, start + len(word), other)
        self.generic_visit(node)

    def _replace_in(self, node: ast.Compare, start: int, end: int, other: str) -> None:
        """Show a comparison whole: its sign alone says little."""
        first, last = self._start(node), self._end(node)
        after = f"{self.source[first:start]}{other}{self.source[end:last]}"
        self._replace(first, last, after, "flip a comparison")

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if node.args and name.lstrip("_") in OUTWARD:
            given = node.args[0]
            self._change(node, self._text(given.value if isinstance(given, ast.Starred) else given), "drop a rounding")
        if name in OPPOSITE:
            end = self._end(node.func)
            self._replace_call(node, end - len(name), end, OPPOSITE[name])
        if RADIUS.fullmatch(name) and isinstance(node.func, ast.Attribute):
            self._change(node, f"(0 * {self._text(node)})", "drop a radius")
        if name == "range":
            for bound in node.args:
                self._move(bound)
        called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        for part in (called, *node.args, *node.keywords):
            self.visit(part)

    def _replace_call(self, node: ast.Call, start: int, end: int, other: str) -> None:
        """Show a call whole: its name alone says little."""
        first, last = self._start(node), self._end(node)
        self._replace(first, last, f"{self.source[first:start]}{other}{self.source[end:last]}", "take the other end")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if RADIUS.fullmatch(node.attr) and isinstance(node.ctx, ast.Load):
            self._change(node, f"(0 * {self._text(node)})", "drop a radius")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not self.names:  # a type
            return
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            ends = [part.lower, part.upper] if isinstance(part, ast.Slice) else []
            for end in ends:
                if end is not None:
                    self._move(end)
            if isinstance(part, ast.Name) and len(part.id) == 1:
                self._move(part)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int:
            self._change_within(node, str(node.value + 1), "move a bound")
            if node.value > 0:
                self._change_within(node, str(node.value - 1), "move a bound")

    def _move(self, bound: ast.expr) -> None:
        """Take the next place on each side; a number alone is moved where it is visited."""
        if not isinstance(bound, ast.Constant):
            for step in ("+ 1", "- 1"):
                self._change_within(bound, f"{self._text(bound)} {step}", "move a bound")


def _name(function: ast.expr) -> str:
    """Return the last name of what is called."""
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
