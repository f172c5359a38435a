"""What is trained: a torchvision ResNet or a Hugging Face Llama with random weights, as a user would write it today, eager or under
torch.compile."""


import torch

from contract import Unsupported

Batch = tuple[torch.Tensor, torch.Tensor]

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
COMPILE_MODES = ("compile.default", "compile.reduce-overhead", "compile.max-autotune", "compile.max-autotune-no-cudagraphs")
CUDAGRAPH_MODES = ("compile.reduce-overhead", "compile.max-autotune")
DYNAMIC = {"auto": None, "on": True, "off": False}
TRANSPORTS = {"auto": {}, "p2p_off": {"NCCL_P2P_DISABLE": "1"}, "socket": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}}


def check_supported(cell: dict) -> None:
    """Raises Unsupported with the reason for whatever this peer does not do."""
    known = {
        "device": ("cpu", "cuda"),
        "compile": ("eager", "python_eager", *COMPILE_MODES),
        "checkpointing": ("none",),
        "precision": ("fp32", "tf32", "bf16", "bf16_pure", "fp16"),
        "memory_format": ("contiguous", "channels_last"),
        "input": ("fixed", "fresh"),
    }
    for key, values in known.items():
        if cell[key] not in values:
            raise Unsupported(f"the peer does not do {key} {cell[key]} (it does {', '.join(values)})")
    other = sorted(set(cell.get("compile_options") or {}) - {"fullgraph", "dynamic"})
    if other:
        raise Unsupported(f"the peer does not do compile option {', '.join(other)} (it does fullgraph, dynamic)")
    if cell["device"] == "cpu" and cell["compile"] in CUDAGRAPH_MODES:
        raise Unsupported(f"{cell['compile']} adds CUDA graphs, which need device cuda")
    if cell.get("perturb"):
        raise Unsupported("the peer plants no slowdowns and no faults; perturb cells need the built-in worker")
    if cell["optimizer"]["name"] not in ("sgd", "adamw"):
        raise Unsupported(f"the peer does not do optimizer {cell['optimizer']['name']} (it does sgd, adamw)")
    if cell["device"] == "cpu" and cell["precision"] == "tf32":
        raise Unsupported("tf32 needs a CUDA device; on a CPU it would be fp32 under another name")
    if cell["ddp"]["transport"] not in TRANSPORTS:
        raise Unsupported(f"the peer does not do transport {cell['ddp']['transport']}")
    expected = "nccl" if cell["device"] == "cuda" else "gloo"
    if cell["ddp"]["ranks"] > 1 and cell["ddp"]["backend"] != expected:
        raise Unsupported(f"the peer does {expected} on {cell['device']}, not {cell['ddp']['backend']}")


def make_family(cell: dict) -> "ResNet | Llama":
    families = {"resnet": ResNet, "llama": Llama}
    name = cell["workload"]["family"]
    if name not in families:
        raise Unsupported(f"the peer does not do workload family {name} (it does {', '.join(families)})")
    return families[name](cell)


class ResNet:
    """torchvision.models.resnetNN and cross entropy."""

    work_unit = "samples"

    def __init__(self, cell: dict) -> None:
        import torchvision

        sizes = cell["workload"]["sizes"]
        if sizes.get("width", 64) != 64:
            raise Unsupported(f"torchvision's ResNets are 64 channels wide, the cell asks for {sizes['width']}")
        self._make = getattr(torchvision.models, f"resnet{sizes['depth']}", None)
        if self._make is None:
            raise Unsupported(f"torchvision has no resnet{sizes['depth']}")
        self._classes = sizes["classes"]
        self._image = sizes["image"]
        self._batch = cell["batch"]
        self._format = torch.channels_last if cell["memory_format"] == "channels_last" else torch.contiguous_format
        self.software = {"torchvision": torchvision.__version__}
        self.work_per_step = self._batch

    def build(self, device: torch.device) -> torch.nn.Module:
        with device:
            model = self._make(num_classes=self._classes)
        return model.to(memory_format=self._format)

    def draw(self, device: torch.device, dtype: torch.dtype, generator: torch.Generator) -> Batch:
        shape = (self._batch, 3, self._image, self._image)
        images = torch.empty(shape, device=device, dtype=dtype, memory_format=self._format).normal_(generator=generator)
        return images, torch.randint(self._classes, (self._batch,), device=device, generator=generator)

    @staticmethod
    def loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model(batch[0]), batch[1])


class Llama:
    """transformers.LlamaForCausalLM with its own loss: labels are the tokens, the model shifts them."""

    work_unit = "tokens"

    def __init__(self, cell: dict) -> None:
        import transformers

        if cell["memory_format"] != "contiguous":
            raise Unsupported(f"memory_format {cell['memory_format']} means nothing for a Llama")
        sizes = cell["workload"]["sizes"]
        self._make = transformers.LlamaForCausalLM
        self._config = transformers.LlamaConfig(
            vocab_size=sizes["vocab"],
            hidden_size=sizes["hidden"],
            intermediate_size=sizes["ffn"],
            num_hidden_layers=sizes["layers"],
            num_attention_heads=sizes["heads"],
            num_key_value_heads=sizes["kv_heads"],
            max_position_embeddings=sizes["sequence"],
            rms_norm_eps=1e-5,
            tie_word_embeddings=False,
            use_cache=False,
            attn_implementation="sdpa",
        )
        self._shape = (cell["batch"], sizes["sequence"])
        self._vocab = sizes["vocab"]
        self.software = {"transformers": transformers.__version__}
        self.work_per_step = cell["batch"] * sizes["sequence"]

    def build(self, device: torch.device) -> torch.nn.Module:
        with device:
            return self._make(self._config)

    def draw(self, device: torch.device, dtype: torch.dtype, generator: torch.Generator) -> Batch:
        tokens = torch.randint(self._vocab, self._shape, device=device, generator=generator)
        return tokens, tokens

    @staticmethod
    def loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        return model(input_ids=batch[0], labels=batch[1], use_cache=False).loss


def make_optimizer(cell: dict, model: torch.nn.Module) -> torch.optim.Optimizer:
    wanted = cell["optimizer"]
    if wanted["name"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=wanted["lr"], momentum=wanted["momentum"],
                               weight_decay=wanted["weight_decay"], fused=True)
    return torch.optim.AdamW(model.parameters(), lr=wanted["lr"], weight_decay=wanted["weight_decay"], fused=True)


def apply_switches(cell: dict) -> None:
    """TF32 for matrix products and convolutions, and cuDNN's autotuner."""
    tf32 = cell["precision"] == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True


def wrap_ddp(cell: dict, model: torch.nn.Module, device: torch.device) -> torch.nn.parallel.DistributedDataParallel:
    ddp = cell["ddp"]
    caps = {} if (ddp["first_bucket_mb"], ddp["bucket_cap_mb"]) == (1, 25) else {
        "bucket_cap_mb_list": [ddp["first_bucket_mb"], ddp["bucket_cap_mb"]]}
    return torch.nn.parallel.DistributedDataParallel(
        model,
        device_ids=[device.index] if device.type == "cuda" else None,
        gradient_as_bucket_view=ddp["gradient_as_bucket_view"],
        find_unused_parameters=ddp["find_unused"],
        static_graph=ddp["static_graph"],
        **caps,
    )


def compile_model(cell: dict, model: torch.nn.Module) -> torch.nn.Module:
    options = cell.get("compile_options") or {}
    return torch.compile(model, mode=cell["compile"].removeprefix("compile."), fullgraph=options.get("fullgraph", False),
                         dynamic=DYNAMIC[options.get("dynamic", "auto")])


class Trainer:
    """One training iteration of a cell."""

    def __init__(self, cell: dict, family: ResNet | Llama, device: torch.device, rank: int) -> None:
        self._cell = cell
        self._family = family
        self.device = device
        apply_switches(cell)
        self._autocast = AUTOCAST.get(cell["precision"])
        self._dtype = torch.bfloat16 if cell["precision"] == "bf16_pure" else torch.float32
        torch.manual_seed(cell["seed"])  # the same initial weights on every rank
        self.module = family.build(device).to(self._dtype).train()
        self.model = self.module
        self._ddp: torch.nn.parallel.DistributedDataParallel | None = None
        self._cudagraphs = cell["compile"] in CUDAGRAPH_MODES
        self._data = torch.Generator(device).manual_seed(cell["seed"] * 1000003 + 17 + rank)
        self._batch = self._draw()
        self.optimizer = make_optimizer(cell, self.module)
        self._scaler = torch.amp.GradScaler(device.type) if cell["precision"] == "fp16" else None

    def wrap(self) -> None:
        self.model = self._ddp = wrap_ddp(self._cell, self.module, self.device)

    def compile(self) -> None:
        """The program itself is compiled in the first steps."""
        self.model = compile_model(self._cell, self.model)

    def _draw(self) -> Batch:
        return self._family.draw(self.device, self._dtype, self._data)

    def step(self) -> torch.Tensor:
        if self._cell["input"] == "fresh":
            self._batch = self._draw()
        self.optimizer.zero_grad(set_to_none=True)
        if self._cudagraphs:
            torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast(self.device.type, dtype=self._autocast, enabled=self._autocast is not None):
            loss = self._family.loss(self.model, self._batch)
        if self._scaler is None:
            loss.backward()
            self.optimizer.step()
        else:
            self._scaler.scale(loss).backward()
            self._scaler.step(self.optimizer)
            self._scaler.update()
        return loss.detach().clone() if self._cudagraphs else loss.detach()  # the next replay overwrites a graph's result

    def settings(self) -> dict:
        """asked: of the cell; set: by this peer; used: as read back after the run."""
        cell = self._cell
        parameter = next(self.module.parameters())
        used = {
            "parameter_type": str(parameter.dtype).removeprefix("torch."),
            "gradient_type": str(parameter.grad.dtype).removeprefix("torch.") if parameter.grad is not None else None,
            "fused_optimizer": bool(self.optimizer.param_groups[0].get("fused")),
        }
        if self.device.type == "cuda":
            used["switches"] = {
                "matmul_tf32": torch.backends.cuda.matmul.allow_tf32,
                "convolution_tf32": torch.backends.cudnn.allow_tf32,
                "cudnn_benchmark": torch.backends.cudnn.benchmark,
            }
        if self._batch[0].dim() == 4:
            channels_last = self._batch[0].is_contiguous(memory_format=torch.channels_last)
            used["memory_format"] = "channels_last" if channels_last else "contiguous"
        if self._scaler is not None:
            used["loss_scale"] = self._scaler.get_scale()
        if self._ddp is not None:
            data = self._ddp._get_ddp_logging_data()
            sizes = str(data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes") or "")
            used["bucket_bytes"] = [int(size) for size in sizes.split(",") if size.strip()]
        return {
            "asked": {"precision": cell["precision"], "memory_format": cell["memory_format"], "transport": cell["ddp"]["transport"]},
            "set": {
                "autocast": str(self._autocast).removeprefix("torch.") if self._autocast else None,
                "tf32": cell["precision"] == "tf32",
                "loss_scaling": self._scaler is not None,
            },
            "used": used,
        }


def ineffective(settings: dict, environment: dict[str, str]) -> str:
    """Why a setting of the cell did not take; empty when all did."""
    asked, used = settings["asked"], settings["used"]
    if used.get("memory_format", asked["memory_format"]) != asked["memory_format"]:
        return f"asked for memory format {asked['memory_format']}, used {used['memory_format']}"
    expected = "bfloat16" if asked["precision"] == "bf16_pure" else "float32"
    if used["parameter_type"] != expected:
        return f"precision {asked['precision']} means {expected} parameters, used {used['parameter_type']}"
    switches = used.get("switches")
    if switches is None:
        return ""
    tf32 = asked["precision"] == "tf32"
    if switches["matmul_tf32"] != tf32 or switches["convolution_tf32"] != tf32:
        return f"precision {asked['precision']}, but TF32 was {switches}"
    override = environment.get("NVIDIA_TF32_OVERRIDE")
    if (tf32 and override == "0") or (asked["precision"] == "fp32" and override == "1"):
        return f"NVIDIA_TF32_OVERRIDE={override} in the environment contradicts precision {asked['precision']}"
    return ""


