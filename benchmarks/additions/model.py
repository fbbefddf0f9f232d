"""A small transformer, many times: every parameter has a leading axis of runs."""

import torch
from torch import Tensor
from torch.nn import functional

from additions.sums import VOCABULARY, token_count

LAYERS, WIDTH, HEADS = 2, 128, 4
Parameters = dict[str, Tensor]
Cache = list[tuple[Tensor, Tensor]]  # keys and values of each layer, [r, b, h, t, w]


def make_models(seeds: list[int], digits: int, device: torch.device) -> Parameters:
    """One model per seed; each is the same whichever others are made with it.

    Each has as many positions as an addition of numbers with `digits` digits has tokens.
    """
    shapes = {
        "tokens": (VOCABULARY, WIDTH),
        "positions": (token_count(digits), WIDTH),
        "head": (WIDTH, VOCABULARY),
    }
    for layer in range(LAYERS):
        shapes |= {
            f"{layer}.qkv": (WIDTH, 3 * WIDTH),
            f"{layer}.out": (WIDTH, WIDTH),
            f"{layer}.up": (WIDTH, 4 * WIDTH),
            f"{layer}.down": (4 * WIDTH, WIDTH),
        }
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    models = {
        name: torch.stack([torch.randn(shape, generator=each) for each in generators]).mul(
            shape[0] ** -0.5 if name not in ("tokens", "positions") else 0.1
        )
        for name, shape in shapes.items()
    }
    for norm in [*(f"{layer}.norm{i}" for layer in range(LAYERS) for i in (1, 2)), "norm"]:
        models[norm] = torch.ones(len(seeds), WIDTH)
    return {name: value.to(device).requires_grad_() for name, value in models.items()}


def repeat_models(models: Parameters, times: int) -> Parameters:
    """Copies of the models: those of the first seed, those of the second, …"""
    return {
        name: value.detach().repeat_interleave(times, dim=0).requires_grad_()
        for name, value in models.items()
    }


def logits_of(models: Parameters, tokens: Tensor, cache: Cache | None = None) -> Tensor:
    """[r, b, t, v] of the tokens [r, b, t]; those in `cache` come before, and it grows."""
    runs, rows, _ = tokens.shape
    start = cache[0][0].shape[3] if cache else 0
    embedded = torch.gather(
        models["tokens"], 1, tokens.reshape(runs, -1, 1).expand(-1, -1, WIDTH)
    ).view(*tokens.shape, WIDTH)
    count = tokens.shape[2]
    x = embedded + models["positions"][:, None, start : start + count]
    seen = torch.ones(count, start + count, dtype=torch.bool, device=x.device).tril(start)
    for layer in range(LAYERS):
        part = _norm(x, models[f"{layer}.norm1"])
        qkv = _apply(part, models[f"{layer}.qkv"]).view(*tokens.shape, 3, HEADS, WIDTH // HEADS)
        query, key, value = qkv.permute(3, 0, 1, 4, 2, 5)  # [r, b, h, t, w] each
        if cache is not None:
            key, value = _extend(cache, layer, key, value)
        mixed = functional.scaled_dot_product_attention(
            query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1), attn_mask=seen
        )
        mixed = mixed.view(runs, rows, HEADS, -1, WIDTH // HEADS).transpose(2, 3).flatten(3)
        x = x + _apply(mixed, models[f"{layer}.out"])
        part = _norm(x, models[f"{layer}.norm2"])
        x = x + _apply(
            functional.gelu(_apply(part, models[f"{layer}.up"])), models[f"{layer}.down"]
        )
    return _apply(_norm(x, models["norm"]), models["head"])


def _apply(x: Tensor, weights: Tensor) -> Tensor:
    """[r, b, t, out] of x [r, b, t, in], with the weights [r, in, out] of each run."""
    return torch.bmm(x.flatten(1, 2), weights).view(*x.shape[:3], -1)


def _norm(x: Tensor, scale: Tensor) -> Tensor:
    return functional.rms_norm(x, (WIDTH,)) * scale[:, None, None]


def _extend(cache: Cache, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    if layer < len(cache):
        before_key, before_value = cache[layer]
        key = torch.cat([before_key, key], dim=3)
        value = torch.cat([before_value, value], dim=3)
        cache[layer] = key, value
    else:
        cache.append((key, value))
    return key, value


def read_prompts(models: Parameters, prompts: Tensor, samples: int) -> tuple[Tensor, Cache]:
    """([r, b · samples, v] logits of the first answer token, cache) of prompts [r, b, t].

    Each prompt is read once and repeated in place, `samples` times.
    """
    cache: Cache = []
    logits = logits_of(models, prompts, cache)[:, :, -1].repeat_interleave(samples, dim=1)
    return logits, [tuple(part.repeat_interleave(samples, dim=1) for part in kv) for kv in cache]  # type: ignore[misc]


def generate(models: Parameters, prompts: Tensor, samples: int, draws: Tensor | None) -> Tensor:
    """[r, b · samples, a] answers to the prompts [r, b, t], each repeated in place.

    An answer takes the positions of the model that the prompt leaves.

    Args:
        models: of r runs.
        prompts: tokens.
        samples: answers per prompt.
        draws: [r, b · samples, a] uniform in [0, 1), which choose the tokens; None takes the
            most likely ones.
    """
    count = models["positions"].shape[1] - prompts.shape[2]
    with torch.no_grad():
        logits, cache = read_prompts(models, prompts, samples)
        answer: list[Tensor] = []
        for place in range(count):
            answer.append(_choose(logits, None if draws is None else draws[:, :, place]))
            if place + 1 < count:
                logits = logits_of(models, answer[-1][:, :, None], cache)[:, :, -1]
    return torch.stack(answer, dim=2)


def _choose(logits: Tensor, draws: Tensor | None) -> Tensor:
    """[r, b] tokens; `draws` [r, b] pick them by inverting the distribution function."""
    if draws is None:
        return logits.argmax(dim=-1)
    cumulative = logits.softmax(dim=-1).cumsum(dim=-1)
    return (cumulative < draws[:, :, None]).sum(dim=-1).clamp(max=VOCABULARY - 1)
