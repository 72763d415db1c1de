"""Runtime compilation of CUDA C++ by NVRTC, the compiler library installed with torch.

In: a file of this package, preprocessor definitions, a device. Out: a kernel that takes tensors and
integers. No CUDA toolkit is needed: NVRTC compiles, the driver loads and launches.
"""

import ctypes
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

FOLDER = Path(__file__).with_name("cuda")


class Kernel:
    """A kernel on one device, loaded until the process ends."""

    def __init__(self, function: ctypes.c_void_p, device: int) -> None:
        self._function, self._device = function, device

    def __call__(self, n_blocks: int, n_threads: int, *arguments: Tensor | int) -> None:
        """Launch the kernel in the current stream; integer arguments are passed as 32 bits."""
        taken = [
            ctypes.c_void_p(argument.data_ptr())
            if isinstance(argument, Tensor)
            else ctypes.c_int(argument)
            for argument in arguments
        ]
        pointers = [ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in taken]
        packed = (ctypes.c_void_p * len(pointers))(*pointers)
        with torch.cuda.device(self._device):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            sizes = (n_blocks, 1, 1, n_threads, 1, 1, 0)
            status = _driver().cuLaunchKernel(self._function, *sizes, stream, packed, None)
        _checked(status, "launched")


def compiled(name: str, device: torch.device, **defined: int | float | str) -> Kernel:
    """Return the kernel ``name`` of the file ``cuda/<name>.cu``, compiled for a device.

    Raise OSError if the libraries are missing, RuntimeError if compiling or loading fails.
    """
    number = torch.cuda.current_device() if device.index is None else device.index
    return _made(name, number, tuple((key, str(value)) for key, value in defined.items()))


@cache
def _made(name: str, device: int, defined: tuple[tuple[str, str], ...]) -> Kernel:
    major, minor = torch.cuda.get_device_capability(device)
    options = [f"--gpu-architecture=sm_{major}{minor}", f"-I{FOLDER}"]
    options += [f"-D{key}={value}" for key, value in defined]
    binary = _binary((FOLDER / f"{name}.cu").read_bytes(), f"{name}.cu", options)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    with torch.cuda.device(device):
        torch.cuda.current_stream().synchronize()  # creates the device's context
        driver = _driver()
        _checked(driver.cuModuleLoadData(ctypes.byref(module), binary), "loaded")
        found = driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        _checked(found, "found")
    return Kernel(function, device)


def _binary(source: bytes, name: str, options: Sequence[str]) -> bytes:
    """Compile CUDA source to machine code (a cubin)."""
    library, program, size = _compiler(), ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), source, name.encode(), 0, None, None)
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = library.nvrtcCompileProgram(program, len(options), given)
    try:
        if status:
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise RuntimeError(
                f"NVRTC did not compile {name}: {log.value.decode(errors='replace')}"
            )
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
        binary = ctypes.create_string_buffer(size.value)
        library.nvrtcGetCUBIN(program, binary)
        return binary.raw
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


@cache
def _compiler() -> ctypes.CDLL:
    """Return NVRTC: the one installed with torch, or else the one that the loader finds."""
    major = str(torch.version.cuda).partition(".")[0]
    name = f"libnvrtc.so.{major}"
    for folder in _library_folders():
        if (folder / name).exists():
            for part in folder.glob(f"libnvrtc-builtins.so.{major}*"):
                ctypes.CDLL(str(part), ctypes.RTLD_GLOBAL)  # NVRTC loads it by name
            return ctypes.CDLL(str(folder / name))
    return ctypes.CDLL(name)


def _library_folders() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec else None
    return [folder for place in places or () for folder in sorted(Path(place).glob("*/lib"))]


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _checked(status: int, what: str) -> None:
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        said = text.value.decode() if text.value else f"error {status}"
        raise RuntimeError(f"a kernel was not {what}: {said}")
