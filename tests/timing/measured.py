"""A few published measurements of the card, by id: what single effects are tested against."""

from __future__ import annotations

from dataclasses import dataclass

from spyrelab import kernels
from spyrelab.timing import CONSTANTS, Estimate, estimate


@dataclass(frozen=True)
class Measured:
    extents: tuple[int, int, int, int]
    split: tuple[int, int, int, int]
    microseconds: float
    fraction: float = 0.2
    partners: str = "adjacent"
    kind: str = "profiled"

    def predict(self) -> Estimate:
        b, m, n, k = self.extents
        module = kernels.matmul(
            b,
            m,
            n,
            k,
            split=self.split,
            k_partners=self.partners,
            lx_backend_fraction=self.fraction,
        )
        return estimate(module)

    @property
    def predicted(self) -> float:
        """Microseconds on the row's own clock."""
        offset = CONSTANTS.kernel_wall_seconds if self.kind == "kernel_wall" else 0.0
        return (self.predict().seconds + offset) * 1e6


WALL = {"kind": "kernel_wall"}
FAR = {"partners": "16 apart", "kind": "kernel_wall"}

ROWS = {
    "CS-001": Measured((1, 128, 128, 8192), (1, 1, 1, 1), 178, **WALL),
    "CS-007": Measured((1, 128, 256, 8192), (1, 1, 1, 1), 308, **WALL),
    "CS-008": Measured((1, 128, 128, 2048), (1, 1, 1, 1), 71, **WALL),
    "CS-006": Measured((1, 128, 4096, 8192), (1, 1, 32, 1), 599, **WALL),
    "CP-007": Measured((1, 64, 12800, 4096), (1, 4, 8, 1), 673.44, 0.8),
    "CP-024": Measured((1, 512, 12800, 4096), (1, 4, 8, 1), 1037.61, 0.8),
    "GS-072": Measured((1, 512, 4096, 4096), (1, 4, 8, 1), 317.36),
    "GS-075": Measured((1, 512, 4096, 4096), (1, 8, 4, 1), 375.82),
    "GS-058": Measured((1, 512, 4096, 4096), (1, 16, 2, 1), 434.41),
    "GS-069": Measured((1, 512, 4096, 4096), (1, 32, 1, 1), 802.74),
    "GS-062": Measured((1, 512, 4096, 4096), (1, 1, 32, 1), 613.74),
    "GS-038": Measured((1, 512, 12800, 4096), (1, 8, 4, 1), 1534.03),
    "CP-025": Measured((1, 512, 12800, 4096), (1, 8, 4, 1), 1139.59, 0.8),
    "GS-071": Measured((1, 512, 4096, 4096), (1, 4, 4, 2), 547.71),
    "GS-066": Measured((1, 512, 4096, 4096), (1, 2, 1, 16), 1179.88),
    "GS-060": Measured((1, 512, 4096, 4096), (1, 1, 1, 32), 1435.25),
    "KF-005": Measured((1, 128, 4096, 4096), (1, 1, 16, 2), 621, **FAR),
    "KF-006": Measured((1, 128, 4096, 4096), (1, 1, 16, 2), 340, **WALL),
    "KF-013": Measured((1, 128, 1024, 4096), (1, 1, 16, 2), 125, **FAR),
    "KF-014": Measured((1, 128, 1024, 4096), (1, 1, 16, 2), 116, **WALL),
    "KF-040": Measured((1, 2048, 4096, 4096), (1, 1, 16, 2), 4900, **WALL),
    "KF-069": Measured((1, 2048, 14336, 4096), (1, 4, 1, 8), 15740, **WALL),
    "LX-001": Measured((512, 32, 512, 128), (1, 4, 8, 1), 1634, 0.2),
    "LX-002": Measured((512, 32, 512, 128), (1, 4, 8, 1), 743, 0.8),
    "LX-005": Measured((32, 64, 128, 576), (1, 32, 1, 1), 343, 0.2),
    "LX-006": Measured((32, 64, 128, 576), (1, 32, 1, 1), 94, 0.8),
}
