"""PyTorch's own DistributedDataParallel over a process group made in C++."""

import torch
import torch.distributed
from torch import nn

MIB = 1024 * 1024
STANDARD_BUCKETS_MB = (1, 25)


def wrap_ddp(
    model: nn.Module, group: "torch.distributed.ProcessGroup", ddp: dict, device: torch.device, own_buffers: set[str]
) -> nn.Module:
    """own_buffers: last names of buffers that each rank has for itself, such as the scales of its own activations."""
    kept = [name for name, _ in model.named_buffers() if name.rpartition(".")[2] in own_buffers]
    if kept:
        nn.parallel.DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, kept)
    buckets = (ddp["first_bucket_mb"], ddp["bucket_cap_mb"])
    # dynamo's DDP optimizer splits graphs by this constant and knows nothing of the list of caps.
    torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = int(ddp["first_bucket_mb"] * MIB)
    caps = {} if buckets == STANDARD_BUCKETS_MB else {"bucket_cap_mb_list": list(buckets)}
    return nn.parallel.DistributedDataParallel(
        model,
        device_ids=[device.index] if device.type == "cuda" else None,
        process_group=group,
        gradient_as_bucket_view=ddp["gradient_as_bucket_view"],
        find_unused_parameters=ddp["find_unused"],
        static_graph=ddp["static_graph"],
        **caps,
    )


def bucket_bytes(model: nn.parallel.DistributedDataParallel | None) -> list[int]:
    """Sizes of the buckets in use: the rebuilt ones after the first steps. Empty without DDP."""
    if model is None:
        return []
    data = model._get_ddp_logging_data()
    sizes = str(data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes") or "")
    return [int(size) for size in sizes.split(",") if size.strip()]
