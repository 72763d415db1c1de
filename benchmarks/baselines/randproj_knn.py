"""RandProj-kNN: the paper's training-free detector over any representation of a window.

In: normal windows, then any windows. Out: the mean cosine distance to the nearest normal windows,
after a random projection of kernel features.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.windows import Windows
from smkc.errors import (
    InputError,
    MissingExtraError,
    NotFittedError,
    SettingError,
    WindowError,
    install_command,
)
from smkc.paper.density import KnnDensity, Projection
from smkc.paper.kernel import Representation
from smkc.paper.sketch import Sketch

__all__ = ["RandProjKnn", "RandProjKnnWithoutPresence"]


class RandProjKnn:
    """Kernel features, a fixed random projection, the K nearest training windows.

    On the CPU this is the density of smkc. On another device the same steps run in torch, and
    scores agree to 1e-4.

    Parameters
    ----------
    window
        L, time steps per window.
    representation
        the kernel features, as :meth:`smkc.paper.kernel.Representation.parse` reads them.
    sketch
        sketch of a time step into a state; the paper's sketch if None.
    components
        output dimension of the projection.
    neighbours
        K.
    seed
        seed of the projection. The paper's matrix is fixed, not drawn again for each run.
    device
        ``cpu``, or a device of torch such as ``cuda`` (extra ``deep``).

    Notes
    -----
    The paper, section 3.3. Random projections: W. B. Johnson and J. Lindenstrauss, 1984;
    D. Achlioptas, "Database-friendly random projections", JCSS 66, 2003. Values are not scaled:
    those of the benchmark have one scale by construction.
    """

    density_: Any

    def __init__(
        self,
        *,
        window: int,
        representation: str | Representation = "full image",
        sketch: Sketch | None = None,
        components: int = 256,
        neighbours: int = 20,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.window = window
        self.representation = representation
        self.sketch = sketch
        self.components = components
        self.neighbours = neighbours
        self.seed = seed
        self.device = device

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Keep every normal window as a reference; ``validation`` is not used."""
        self._check_length(windows)
        if len(windows) < self.neighbours:
            raise InputError(
                f"{len(windows)} training windows, neighbours={self.neighbours}; give more "
                "windows or ask for fewer neighbours"
            )
        representation = Representation.parse(self.representation)
        representation.check(self.window)
        settings: dict[str, Any] = {
            "window": self.window,
            "representation": representation,
            "sketch": self.sketch or Sketch(),
            "projection": Projection(components=self.components, seed=self.seed),
            "neighbours": self.neighbours,
        }
        empty = KnnDensity.empty(**settings, least_filled=0.0, reference_size=len(windows))
        if self.device != "cpu":
            empty = _on_device(empty, self.device)
        self.density_ = empty.learned(windows.recording(), windows.starts())
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) mean cosine distance to the nearest training windows."""
        if not hasattr(self, "density_"):
            raise NotFittedError("RandProjKnn has seen no windows; call fit first")
        self._check_length(windows)
        scores: NDArray[np.float64] = self.density_.scores(windows.recording(), windows.starts())
        return scores

    def _check_length(self, windows: Windows) -> None:
        if windows.length != self.window:
            raise WindowError(
                f"windows of {windows.length} steps were given and window={self.window}; make the "
                "competitor with the length of the windows"
            )


class RandProjKnnWithoutPresence(RandProjKnn):
    """The same with states that have no presence stream: only values are hashed."""

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Keep every normal window as a reference; ``validation`` is not used."""
        self.sketch = replace(self.sketch or Sketch(), presence=False)
        return super().fit(windows)


def _on_device(density: KnnDensity, device: str) -> KnnDensity:
    try:
        from smkc.paper.density.torch_knn import TorchKnnDensity, can_use
    except ImportError as error:
        raise MissingExtraError(
            "devices other than cpu need torch, which is not installed; install it with: "
            f"{install_command('deep')}"
        ) from error
    if not can_use(device):
        raise SettingError(
            f"device={device!r} cannot be used here; use cpu, or install a torch that drives it"
        )
    return TorchKnnDensity.on(density, device)
