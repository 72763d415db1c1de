"""Devices: availability, name and peak memory.

In: a device as torch names it. Out: the facts that the benchmark records about it. torch is
imported only for devices other than the CPU.
"""

from collections.abc import Callable

from benchmarks.libraries import not_installed

__all__ = ["check_device", "device_name", "peak_bytes"]


def check_device(device: str) -> None:
    """Raise an error if networks cannot be trained on the device."""
    if device == "cpu":
        return
    try:
        from smkc.paper.learn.training import Training
    except ModuleNotFoundError as error:
        raise not_installed(f"device={device!r}", error.name, error) from error
    Training(device=device).where()


def device_name(device: str) -> str:
    """Return the device's name in results: ``cpu``, or a GPU with its model."""
    if device == "cpu":
        return device
    import torch

    return f"{device} ({torch.cuda.get_device_name(device)})"


def peak_bytes(device: str, work: Callable[[], object]) -> int:
    """Return the peak of allocated GPU memory, in bytes, while ``work`` runs."""
    import torch

    torch.cuda.reset_peak_memory_stats(device)
    work()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device)
