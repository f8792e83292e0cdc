"""The 3x3 convolution by Winograd's minimal filtering F(2x2, 3x3): 16 products in place of 36.

Two neighbouring outputs of a filter (g0, g1, g2) over four inputs (d0, d1, d2, d3),

    y0 = d0 g0 + d1 g1 + d2 g2        y1 = d1 g0 + d2 g1 + d3 g2,

take six products as written. Sums made before and after leave four:

    m0 = (d0 - d2) g0        m1 = (d1 + d2) (g0 + g1 + g2) / 2
    m3 = (d1 - d3) g2        m2 = (d2 - d1) (g0 - g1 + g2) / 2
    y0 = m0 + m1 + m2        y1 = m1 - m2 - m3.

Done to the columns and then to the rows of a tile, that makes its 2x2 outputs of 4x4 inputs with 16
products. With channels each of the 16 is a product of matrices, all tiles by I times I by O.
Neighbouring tiles share two rows or columns of inputs, so the sums are four values for each cell,
where patches of 3x3 are nine. The gradient takes the transposed steps in reverse order.

Source: Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016), section 4.1.
"""

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

Padding = Literal["SAME", "VALID"]
Grid = tuple[tuple[jax.Array, ...], ...]  # one array for each cell of a tile, by row and column
Line = tuple[jax.Array, ...]

_OUT = 2  # side of a tile of outputs
_IN = 4  # side of its inputs, and of its products


def conv3x3(x: jax.Array, kernel: jax.Array, padding: Padding) -> jax.Array:
    """A 3x3 cross-correlation with stride 1, differentiable in reverse mode only.

    Args:
      x: float32[B, H, W, I]. Odd boards are padded with zeros to whole tiles.
      kernel: float32[3, 3, I, O].
      padding: "SAME" (zeros around the board) or "VALID" (the output is two cells smaller).

    Returns:
      float32[B, H, W, O], or [B, H-2, W-2, O] when "VALID". Its rounding error is a few times that
      of the plain sum, which float32 has room for and bfloat16 has not.

    Raises:
      TypeError: x or kernel is not float32.
    """
    if not x.dtype == kernel.dtype == jnp.float32:
        raise TypeError(f"winograd convolves float32 only, got {x.dtype} and {kernel.dtype}")
    config: Any = jax.config  # only some versions declare what it has
    return _convolve(x, kernel, padding, config.jax_default_matmul_precision)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _convolve(
    x: jax.Array, kernel: jax.Array, padding: Padding, precision: str | None
) -> jax.Array:
    return _forward(x, kernel, padding, precision)[0]


def _forward(
    x: jax.Array, kernel: jax.Array, padding: Padding, precision: str | None
) -> tuple[jax.Array, tuple[list[jax.Array], list[jax.Array]]]:
    """The output, and what the gradient needs: the summed inputs and filters as matrices."""
    border, product = _border(padding), functools.partial(jnp.matmul, precision=precision)
    height, width = (cells - 2 + 2 * border for cells in x.shape[1:3])
    tiles = (x.shape[0], _tiles(height), _tiles(width))
    x = _padded(x, border, tiles, _IN - _OUT)
    inputs = _matrices(_along_both(_inputs, _windows(x, tiles, _IN)))  # 16 of [tiles, I]
    filters = _matrices(_along_both(_filters, tuple(tuple(row) for row in kernel)))  # of [I, O]
    products = [product(d, g) for d, g in zip(inputs, filters, strict=True)]
    y = _interleaved(_along_both(_outputs, _grid(products, tiles)))
    return y[:, :height, :width], (inputs, filters)


def _backward(
    padding: Padding,
    precision: str | None,
    kept: tuple[list[jax.Array], list[jax.Array]],
    dy: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    inputs, filters = kept
    border, product = _border(padding), functools.partial(jnp.matmul, precision=precision)
    batch, height, width, _ = dy.shape
    tiles = (batch, _tiles(height), _tiles(width))
    dy = _padded(dy, 0, tiles, 0)
    dproducts = _matrices(_along_both(_outputs_back, _windows(dy, tiles, _OUT)))  # of [tiles, O]
    dfilters = [product(d.T, m) for d, m in zip(inputs, dproducts, strict=True)]
    dinputs = [product(m, g.T) for m, g in zip(dproducts, filters, strict=True)]
    dkernel = _along_both(_filters_back, _grid(dfilters, filters[0].shape[:1]))
    dx = _interleaved(_overlapped(_along_both(_inputs_back, _grid(dinputs, tiles))))
    high, wide = (cells + 2 - 2 * border for cells in (height, width))
    dx = dx[:, border : border + high, border : border + wide]
    return dx, jnp.stack([jnp.stack(row) for row in dkernel])


_convolve.defvjp(_forward, _backward)


# The sums along one axis, and `_back` their transposes.


def _inputs(d0: jax.Array, d1: jax.Array, d2: jax.Array, d3: jax.Array) -> Line:
    return d0 - d2, d1 + d2, d2 - d1, d1 - d3


def _inputs_back(v0: jax.Array, v1: jax.Array, v2: jax.Array, v3: jax.Array) -> Line:
    return v0, v1 - v2 + v3, v1 + v2 - v0, -v3


def _filters(g0: jax.Array, g1: jax.Array, g2: jax.Array) -> Line:
    ends, middle = (g0 + g2) / 2, g1 / 2
    return g0, ends + middle, ends - middle, g2


def _filters_back(u0: jax.Array, u1: jax.Array, u2: jax.Array, u3: jax.Array) -> Line:
    ends, middle = (u1 + u2) / 2, (u1 - u2) / 2
    return u0 + ends, middle, ends + u3


def _outputs(m0: jax.Array, m1: jax.Array, m2: jax.Array, m3: jax.Array) -> Line:
    return m0 + m1 + m2, m1 - m2 - m3


def _outputs_back(y0: jax.Array, y1: jax.Array) -> Line:
    return y0, y0 + y1, y0 - y1, -y1


def _along_both(sums: Callable[..., Line], grid: Grid) -> Grid:
    """The sums of each column of the grid, and then of each row of those."""
    columns = [sums(*column) for column in zip(*grid, strict=True)]
    return tuple(sums(*row) for row in zip(*columns, strict=True))


# Boards and tiles.


def _border(padding: Padding) -> int:
    """Zeros on each side of the board."""
    return 1 if padding == "SAME" else 0


def _tiles(cells: int) -> int:
    """How many cover so many outputs."""
    return -(-cells // _OUT)


def _padded(x: jax.Array, border: int, tiles: tuple[int, ...], more: int) -> jax.Array:
    """Zeros before the board and after it, to the size of all tiles and `more` cells."""
    sides = [_OUT * count + more for count in tiles[1:]]
    after = [side - border - cells for side, cells in zip(sides, x.shape[1:3], strict=True)]
    return jnp.pad(x, ((0, 0), (border, after[0]), (border, after[1]), (0, 0)))


def _windows(x: jax.Array, tiles: tuple[int, ...], side: int) -> Grid:
    """The cells of every tile: side x side arrays `[B, tiles down, tiles across, C]`."""
    down, across = (_OUT * (count - 1) + 1 for count in tiles[1:])
    return tuple(
        tuple(x[:, i : i + down : _OUT, j : j + across : _OUT] for j in range(side))
        for i in range(side)
    )


def _overlapped(grid: Grid) -> Grid:
    """4x4 inputs of tiles -> 2x2 of one tile more: where two tiles share a cell, their sum."""

    def along(axis: int, line: Line) -> Line:
        def shifted(x: jax.Array, tiles: int) -> jax.Array:
            widths = [(0, 0)] * x.ndim
            widths[axis] = (tiles, 1 - tiles)
            return jnp.pad(x, widths)

        return tuple(shifted(line[i], 0) + shifted(line[i + _OUT], 1) for i in range(_OUT))

    rows = [along(2, row) for row in grid]
    columns = [along(1, column) for column in zip(*rows, strict=True)]
    return tuple(zip(*columns, strict=True))


def _interleaved(grid: Grid) -> jax.Array:
    """2x2 cells of tiles `[B, h, w, C]` -> the board `[B, 2h, 2w, C]`."""
    batch, down, across, channels = grid[0][0].shape
    rows = [jnp.concatenate(row, axis=-1).reshape(batch, down, -1) for row in grid]
    board = jnp.concatenate(rows, axis=-1)
    return board.reshape(batch, _OUT * down, _OUT * across, channels)


def _matrices(grid: Grid) -> list[jax.Array]:
    """Its arrays by rows, each with the channels as columns."""
    return [x.reshape(-1, x.shape[-1]) for row in grid for x in row]


def _grid(matrices: list[jax.Array], shape: tuple[int, ...]) -> Grid:
    """The opposite for 16 matrices: their rows take this shape."""
    arrays = [x.reshape(*shape, x.shape[-1]) for x in matrices]
    return tuple(tuple(arrays[i : i + _IN]) for i in range(0, _IN * _IN, _IN))
