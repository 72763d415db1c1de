"""Devices: is it there, what is it called, and how much of its memory was used.

In: a device as torch names it. Out: what the benchmark writes down of it. torch is imported only
when a device other than the processor is asked for.
"""

from collections.abc import Callable

from benchmarks.libraries import not_installed

__all__ = ["check_device", "device_name", "peak_bytes"]


def check_device(device: str) -> None:
    """Raise unless networks can be trained there."""
    if device == "cpu":
        return
    try:
        from smkc.paper.learn.training import Training
    except ModuleNotFoundError as error:
        raise not_installed(f"device={device!r}", error.name, error) from error
    Training(device=device).where()


def device_name(device: str) -> str:
    """Return what a result says of its device: ``cpu``, or a GPU with its model."""
    if device == "cpu":
        return device
    import torch

    return f"{device} ({torch.cuda.get_device_name(device)})"


def peak_bytes(device: str, work: Callable[[], object]) -> int:
    """Return the most memory of a GPU that was allocated at a time while ``work`` ran."""
    import torch

    torch.cuda.reset_peak_memory_stats(device)
    work()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device)
