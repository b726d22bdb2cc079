"""Facts about what a kernel will run on. Rules and passes ask for facts, never for a name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """`lanes` is the number of 32-bit elements in a vector register; `registers` how many of those a kernel may use;
    `fused` whether multiply and add are one instruction (the multiply then needs no register of its own)."""

    name: str
    lanes: int
    registers: int
    fused: bool

    def tile_rows(self, vectors: int) -> int:
        """Rows of a register tile `vectors` wide: accumulators, one row of B and one element of A must fit."""
        free = self.registers - vectors - (1 if self.fused else 2)
        return max(1, free // vectors)


# V8 and SpiderMonkey leave 15 of x86-64's 16 vector registers; what is legal here also fits Arm's 32.
WASM_PLAIN = Target("wasm", lanes=4, registers=14, fused=False)
WASM_RELAXED = Target("wasm-relaxed", lanes=4, registers=15, fused=True)
