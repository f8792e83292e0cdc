"""How many kernels a compiled program starts, read from its HLO.

Every instruction that computes (a fusion, a matrix product, a library call, a copy) is one kernel;
what only names parts of others (tuples, bitcasts, constants) is none. A loop's body counts once:
the turns are known to whoever wrote it.
"""

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

_FREE = {
    "parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all", "add-dependency",
    "opt-barrier", "copy-done", "async-done", "partition-id", "replica-id", "while", "call",
    "conditional",
}  # fmt: skip
_PARTIAL = re.compile(r"= \S+ (?:gather|scatter|dynamic-slice|dynamic-update-slice)\(")
_BYTES = {"pred": 1, "bf16": 2, "f16": 2, "f32": 4, "f64": 8}


class Instruction(NamedTuple):
    """One line of a computation; `size` is of its result in bytes."""

    name: str
    opcode: str
    size: int
    operands: tuple[str, ...]
    called: tuple[str, ...]  # computations: fused, or a loop's body and condition


@dataclasses.dataclass(frozen=True)
class Loop:
    """A loop, or the whole program."""

    kernels: int  # in one turn, inner loops not counted
    # bytes that those read and write in one turn; gathers and updates in place count what they
    # give, not the whole that they take it from
    traffic: int
    inner: tuple["Loop", ...]  # the loops in it, in order

    def walk(self) -> Iterator["Loop"]:
        """This loop and all inner ones."""
        yield self
        for loop in self.inner:
            yield from loop.walk()


def read(text: str) -> Loop:
    """The loops of a compiled module's text (`compiled.as_text()`)."""
    computations: dict[str, list[Instruction]] = {}
    partial: set[str] = set()
    entry, current = "", ""
    for line in text.splitlines():
        if head := re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line):
            current = head[2]
            computations[current] = []
            entry = current if head[1] else entry
        elif (found := _instruction(line)) is not None:
            computations[current].append(found)
            if _PARTIAL.search(line):
                partial.add(current)
    return _loop(computations, partial, (entry,))


def _instruction(line: str) -> Instruction | None:
    match = re.match(r"\s+(?:ROOT )?%?([\w.\-]+) = (.*)$", line)
    if match is None:
        return None
    rest = match[2]
    end = _closing(rest) + 1 if rest.startswith("(") else rest.index(" ")
    shape, rest = rest[:end], rest[end:].strip()
    opcode, _, rest = rest.partition("(")
    arguments, attributes = rest[: _closing("(" + rest) - 1], rest
    called = re.findall(r"(?:calls|body|condition|to_apply)=%?([\w.\-]+)", attributes)
    for group in re.findall(r"branch_computations=\{([^}]*)\}", attributes):
        called += re.findall(r"%?([\w.\-]+)", group)
    operands = tuple(re.findall(r"%([\w.\-]+)", arguments))
    return Instruction(match[1], opcode, _size(shape), operands, tuple(called))


def _closing(text: str) -> int:
    """Where the parenthesis that `text` begins with is closed."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    return len(text)


def _size(shape: str) -> int:
    """Bytes of an array or of a tuple of arrays."""
    total = 0
    for kind, sides in re.findall(r"(\w+)\[([\d,]*)\]", shape):
        width = _BYTES.get(kind) or int(re.sub(r"\D", "", kind) or 0) // 8
        total += width * math.prod(int(side) for side in sides.split(",") if side)
    return total


def _of_rows(given: list[int], result: int) -> int:
    """Bytes of an instruction that takes or changes rows of large arrays, in place."""
    largest = max(given)
    rows = sum(size for size in given if 4 * size <= largest)
    return 2 * rows if result >= largest else rows + 2 * result


def _loop(
    computations: dict[str, list[Instruction]], partial: set[str], names: tuple[str, ...]
) -> Loop:
    """Of computations that are carried out one after the other."""
    kernels, traffic, inner = 0, 0, []
    for name in names:
        sizes = {i.name: i.size for i in computations[name]}
        for instruction in computations[name]:
            if instruction.opcode == "while":
                inner.append(_loop(computations, partial, instruction.called))
            elif instruction.opcode in ("call", "conditional"):
                part = _loop(computations, partial, instruction.called)
                kernels, traffic = kernels + part.kernels, traffic + part.traffic
                inner += part.inner
            elif instruction.opcode not in _FREE:
                kernels += 1
                given = [sizes.get(operand, 0) for operand in instruction.operands]
                if any(called in partial for called in instruction.called):
                    traffic += _of_rows(given, instruction.size)
                else:
                    traffic += sum(given) + instruction.size
    return Loop(kernels, traffic, tuple(inner))
