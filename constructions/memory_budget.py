"""Determine the available memory before a computation starts.

Page: docs/measurements.md
"""

import os
import resource
from pathlib import Path

from constructions.errors import ResourceError


def available_bytes() -> int:
    """Return how many bytes of memory this process may still allocate.

    The least of what the kernel calls available, of the control group's limit, and of the address-space limit set for
    the process; an upper estimate where the system tells none of them.

    Example:
        >>> available_bytes() > 0
        True
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        if "MemAvailable" in lines:
            limits.append(int(lines["MemAvailable"].split()[0]) * 1024)
    group = Path("/sys/fs/cgroup")
    if (group / "memory.max").exists() and (group / "memory.current").exists():
        most = (group / "memory.max").read_text().strip()
        if most != "max":
            limits.append(int(most) - int((group / "memory.current").read_text()))
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        limits.append(address_space - _address_space_in_use())
    return max(0, min(limits))


def require_memory(needed: int, *, purpose: str, available: int | None = None) -> None:
    """Refuse work that would not fit, before it starts.

    Args:
        needed: Estimated peak of the work, bytes.
        purpose: What needs it, for the message.
        available: Bytes there are; asked from the system by default.

    Raises:
        ResourceError: There is less memory than `needed`.

    Example:
        >>> require_memory(2**40, purpose="65536 facts", available=2**30)
        Traceback (most recent call last):
        ...
        constructions.errors.ResourceError: 65536 facts would need about 1,024.0 GiB of memory, but 1.0 GiB is available
    """
    there = available_bytes() if available is None else available
    if needed > there:
        raise ResourceError(
            f"{purpose} would need about {needed / 2**30:,.1f} GiB of memory, but {there / 2**30:,.1f} GiB is available"
        )


def _address_space_in_use() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0
