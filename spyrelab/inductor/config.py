"""Settings of the compiler; they are part of the key under which compiled graphs are kept.

``spyrelab.inductor.config.planner = "per-op"`` or ``with spyrelab.inductor.config.patch(...)``.
"""

import sys

from torch.utils._config_module import install_config_module

planner: str = "joint"
"""How runs of operations are planned: ``"joint"``, ``"per-op"``, or ``"none"`` for one launch
per operation, as eager does."""

install_config_module(sys.modules[__name__])
