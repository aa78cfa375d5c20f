"""Every private name of torch that the device relies on, checked when the device loads.

torch promises nothing about these. Where a release moves one, this page is the only one to mend.
"""

from __future__ import annotations

from typing import Any

import torch
import torch._prims_common
from torch.utils import backend_registration

from spyrelab.device.errors import TorchVersionError

__all__ = [
    "BOXED",
    "CPU_KEYS",
    "ExcludeKeys",
    "HooksBase",
    "StorageBase",
    "WithoutModes",
    "conjugate_keys",
    "cpu_kernel",
    "empty_shell",
    "fused_attention_enabled",
    "import_dlpack",
    "is_composite",
    "key_set",
    "math_attention_enabled",
    "negated_view",
    "parameters",
    "parse_to",
    "promoted_types",
    "set_up_backend",
    "tensor_printing",
    "uninitialised",
]

_NEEDED = {
    "torch._C._from_dlpack": "makes tensors of foreign memory",
    "torch._C._acc.PrivateUse1Hooks": "base class of the device hooks",
    "torch._C._acc.create_empty_tensor": "makes an empty tensor of the device",
    "torch._C.DispatchKey": "names dispatch keys",
    "torch._C.DispatchKeySet": "calls the kernels of another key",
    "torch._C._ExcludeDispatchKeyGuard": "re-enters an operation below autocast",
    "torch._C._DisableTorchDispatch": "copies to the host inside dispatch modes",
    "torch._C._nn._parse_to": "reads the arguments of Tensor.to",
    "torch._prims_common.elementwise_dtypes": "result types of pointwise operations",
    "torch._C._dispatch_has_kernel_for_dispatch_key": "finds operations that torch decomposes",
    "torch._C._get_overrideable_sdp_enabled": "torch.nn.attention.sdpa_kernel",
    "torch._C._get_math_sdp_enabled": "torch.nn.attention.sdpa_kernel",
    "torch._neg_view": "reads negated views",
    "torch._register_device_module": "installs torch.spyre",
    "torch.library.get_kernel": "finds the CPU kernels of views",
    "torch.library.fallthrough_kernel": "skips a dispatch key",
    "torch.library.Library.fallback": "catches every operation without a kernel",
    "torch._tensor_str._tensor_str": "prints tensors",
    "torch.nn.Module._apply": "keeps the parameters of modules that move",
    "torch.nn.parameter.UninitializedTensorMixin": "lets lazy modules move to the device",
    "torch.profiler.profile.start_trace": "notes launches while a profiler runs",
    "torch.profiler.profile.stop_trace": "notes launches while a profiler runs",
    "torch.storage._StorageBase": "base class of storages",
    "torch.utils.backend_registration._setup_privateuseone_for_python_backend": "adds the device",
    "torch._C._accelerator_synchronizeDevice": "torch.accelerator.synchronize",
    "torch._C._accelerator_isAllocatorInitialized": "torch.accelerator memory functions",
    "torch._C._accelerator_emptyCache": "torch.accelerator.empty_cache",
    "torch._C._accelerator_getDeviceStats": "torch.accelerator.memory_stats",
    "torch._C._accelerator_resetPeakStats": "torch.accelerator.reset_peak_memory_stats",
    "torch._C._accelerator_resetAccumulatedStats": "torch.accelerator.reset_accumulated_...",
    "torch._C._accelerator_getMemoryInfo": "torch.accelerator.get_memory_info",
}
"""Private name: what it is needed for."""


def _find(path: str) -> Any:
    found: Any = torch
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    return found


def _check() -> None:
    missing = []
    for path, purpose in _NEEDED.items():
        try:
            _find(path)
        except AttributeError:
            missing.append(f"{path} ({purpose})")
    if missing:
        raise TorchVersionError(
            f"torch {torch.__version__} no longer has {', '.join(missing)}; the device 'spyre'"
            " was written for torch 2.13: install that, or mend spyrelab/device/internals.py"
        )


_check()
# Before any module says torch.device("spyre"); harmless when repeated.
torch.utils.backend_registration.rename_privateuse1_backend("spyre")

_C: Any = torch._C
import_dlpack = _C._from_dlpack
"""A tensor of the memory that a DLPack capsule describes."""
HooksBase: Any = _C._acc.PrivateUse1Hooks
ExcludeKeys: Any = _C._ExcludeDispatchKeyGuard
StorageBase: Any = torch.storage._StorageBase
CPU_KEYS = _C.DispatchKeySet(_C.DispatchKey.CPU)
BOXED = "_"
"""The namespace that a fallback for all operations is registered in."""
conjugate_keys = ("Conjugate", "Negative")
set_up_backend: Any = backend_registration._setup_privateuseone_for_python_backend
negated_view: Any = torch._neg_view
tensor_printing: Any = torch._tensor_str
parameters: Any = torch.nn.parameter
uninitialised: Any = parameters.UninitializedTensorMixin
fused_attention_enabled: Any = _C._get_overrideable_sdp_enabled
"""Whether `torch.nn.attention.sdpa_kernel` lets a device use its own attention."""
math_attention_enabled: Any = _C._get_math_sdp_enabled
"""Whether it lets attention be decomposed."""
parse_to: Any = _C._nn._parse_to
WithoutModes: Any = _C._DisableTorchDispatch
"""A context in which no dispatch mode sees what is done."""


def promoted_types(values: list[Any], kind: str) -> torch.dtype:
    """The result type of a pointwise operation; ``kind`` names torch's promotion rule."""
    prims: Any = torch._prims_common
    rule = getattr(prims.ELEMENTWISE_TYPE_PROMOTION_KIND, kind)
    found: torch.dtype = prims.elementwise_dtypes(*values, type_promotion_kind=rule)[1]
    return found


def is_composite(name: str) -> bool:
    """Whether torch decomposes ``aten::...`` by itself before any device sees it."""
    return bool(_C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))


def key_set(name: str) -> Any:
    """The set of one dispatch key."""
    return _C.DispatchKeySet(getattr(_C.DispatchKey, name))


def cpu_kernel(name: str) -> Any:
    """The CPU kernel of ``aten::name`` as a function of (key set, *arguments)."""
    return torch.library.get_kernel(f"aten::{name}", "CPU").call_boxed


def empty_shell(dtype: torch.dtype) -> torch.Tensor:
    """A tensor of the device with no memory, to be filled by ``set_``."""
    return _C._acc.create_empty_tensor([0], dtype)
