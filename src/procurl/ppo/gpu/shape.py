"""What a fused update is compiled for: the network and the sizes, as a header for `update.cu`.

Matrices are filled up with zeros: to a multiple of four rows and columns, because threads load four
numbers at a time, and to an odd number of such fours per row, because of the banks of the memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple, Self

from procurl.ppo.learning.networks import ActorCritic, CategoricalHead
from procurl.ppo.learning.settings import PPOSettings

THREADS = 256
# Bytes of shared memory of each block that are not its own. A processor has as much as the largest
# block may take, and these.
RESERVED = 1024
MOST_BLOCKS = 2  # per processor: tiles of products need 128 registers per thread
FIXED_ROWS = 8  # of numbers per sample: log-probability, advantage, return, five terms of the loss
SUMS = 32 + 16  # numbers in which sums over threads and the minibatch are kept


class Layer(NamedTuple):
    """A dense layer; buffer 0 holds the observations, each other one the outputs of a layer."""

    path: tuple[str, ...]  # of its kernel and bias among the parameters
    source: int  # the buffer that it reads
    target: int  # the buffer that it writes
    inputs: int
    outputs: int
    rectified: bool


@dataclass(frozen=True)
class Shape:
    """The sizes of an update.

    Args:
        network: policy and critic.
        observation: numbers in an observation.
        n_steps: steps of an update.
        n_epochs: passes over them.
        batch_size: steps of a minibatch.
    """

    network: ActorCritic
    observation: int
    n_steps: int
    n_epochs: int
    batch_size: int
    layers: tuple[Layer, ...] = field(init=False, repr=False, compare=False)
    stages: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        layers, stages = _arrange(self.network, self.observation)
        object.__setattr__(self, "layers", layers)
        object.__setattr__(self, "stages", stages)

    @classmethod
    def of(cls, network: ActorCritic, settings: PPOSettings, observation: int) -> Self:
        """The shape of updates with these settings."""
        sizes = settings.n_steps, settings.n_epochs, settings.batch_size
        return cls(network, observation, *sizes)

    @property
    def discrete(self) -> bool:
        """Whether actions are numbers of a list."""
        return isinstance(self.network.head, CategoricalHead)

    @property
    def n_params(self) -> int:
        """Parameters of the network."""
        log_std = 0 if self.discrete else self.network.head.size
        return sum((layer.inputs + 1) * layer.outputs for layer in self.layers) + log_std

    @property
    def n_filled(self) -> int:
        """Parameters, with the zeros that fill matrices up."""
        log_std = 0 if self.discrete else _filled(self.network.head.size)
        return log_std + sum(
            _matrix(layer.inputs, layer.outputs) + _filled(layer.outputs) for layer in self.layers
        )

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block of threads."""
        rows = FIXED_ROWS + (1 if self.discrete else self.network.head.size)
        buffers = sum(self._buffer_sizes()) + 2 * self._observations_size
        samples = 2 * rows * self.batch_size
        numbers = self.n_filled + buffers + samples + THREADS + SUMS + self.batch_size
        return 4 * numbers

    def fits(self, memory: int) -> bool:
        """Whether the kernel can compute this update if a block has `memory` bytes."""
        return self.batch_size % 4 == 0 and self.shared_bytes <= memory

    def header(self, memory: int) -> str:
        """The text of `shape.h` for blocks of at most `memory` bytes."""
        blocks = (memory + RESERVED) // (self.shared_bytes + RESERVED)
        actions = self.network.head.size
        steps = self.n_epochs * (self.n_steps // self.batch_size)
        starts = [sum(self._buffer_sizes()[:i]) for i in range(len(self.layers))]
        policy = next(layer for layer in self.layers if layer.path[0] == "head")
        value = next(layer for layer in self.layers if layer.path == ("value",))
        constants = {
            "OBSERVATION": self.observation,
            "INPUTS_WIDTH": _filled(self.observation),
            "STEPS": self.n_steps,
            "BATCH": self.batch_size,
            "MINIBATCHES": self.n_steps // self.batch_size,
            "GRADIENT_STEPS": steps,
            "ACTIONS": actions,
            "ACTION_SIZE": 1 if self.discrete else actions,
            "SAMPLE_ROWS": FIXED_ROWS + (1 if self.discrete else actions),
            "THREADS": THREADS,
            "BLOCKS_PER_PROCESSOR": min(blocks, MOST_BLOCKS),
            "SHARED_BYTES": self.shared_bytes,
            "GIVEN": self.n_params,
            "PARAMS": self.n_filled,
            "LOG_STD": -1 if self.discrete else self.n_filled - _filled(actions),
            "GIVEN_LOG_STD": -1 if self.discrete else self.n_params - actions,
            "BUFFERS_SIZE": sum(self._buffer_sizes()),
            "OBSERVATIONS_SIZE": self._observations_size,
            "POLICY_BUFFER": policy.target,
            "POLICY_OUTPUTS": _filled(policy.outputs),
            "VALUE_BUFFER": value.target,
            "VALUE_OUTPUTS": _filled(value.outputs),
            "N_LAYERS": len(self.layers),
            "N_STAGES": len(self.stages),
        }
        return "\n".join(
            [
                "#pragma once",
                f"#define DISCRETE {int(self.discrete)}",
                f"using Action = {'int32_t' if self.discrete else 'float'};",
                *(f"constexpr int {name} = {value};" for name, value in constants.items()),
                "struct Layer {",
                "  int from, to, inputs, outputs, true_inputs, true_outputs;",
                "  int kernel, bias, given_kernel, given_bias;",
                "  bool rectified;",
                "};",
                f"constexpr Layer LAYERS[] = {_braces(self._rows())};",
                f"constexpr int STAGES[][2] = {_braces(map(_braces, self.stages))};",
                f"constexpr int BUFFERS[] = {_braces((0, *starts))};",
                "",
            ]
        )

    def _buffer_sizes(self) -> list[int]:
        """Numbers in the outputs of each layer."""
        return [_matrix(self.batch_size, layer.outputs) for layer in self.layers]

    @property
    def _observations_size(self) -> int:
        return _matrix(self.batch_size, self.observation)

    def _rows(self) -> Iterator[str]:
        place = given = 0
        for layer in self.layers:
            inputs, outputs = _filled(layer.inputs), _filled(layer.outputs)
            bias = place + _matrix(inputs, outputs)
            given_bias = given + layer.inputs * layer.outputs
            sizes = layer.source, layer.target, inputs, outputs, layer.inputs, layer.outputs
            yield _braces((*sizes, place, bias, given, given_bias, int(layer.rectified)))
            place, given = bias + outputs, given_bias + layer.outputs


def _arrange(
    network: ActorCritic, observation: int
) -> tuple[tuple[Layer, ...], tuple[tuple[int, int], ...]]:
    """The layers, and the one or two of each stage: −1 stands for none.

    Layers of a stage are computed side by side. Both read the same buffer or buffers of their own.
    """
    layers: list[Layer] = []

    def chain(name: str, source: int, inputs: int, widths: tuple[int, ...]) -> tuple[int, int]:
        for index, width in enumerate(widths):
            layers.append(Layer((f"{name}_{index}",), source, len(layers) + 1, inputs, width, True))
            source, inputs = len(layers), width
        return source, inputs

    source, inputs = chain("shared", 0, observation, network.shared_layers)
    n_shared = len(layers)
    last, width = chain("policy", source, inputs, network.policy_layers)
    head = ("head", "output")
    layers.append(Layer(head, last, len(layers) + 1, width, network.head.size, False))
    n_policy = len(layers)
    last, width = chain("value", source, inputs, network.value_layers)
    layers.append(Layer(("value",), last, len(layers) + 1, width, 1, False))

    branches = zip_longest(range(n_shared, n_policy), range(n_policy, len(layers)))
    pairs = [(b, -1) if a is None else (a, -1 if b is None else b) for a, b in branches]
    return tuple(layers), (*((i, -1) for i in range(n_shared)), *pairs)


def _filled(size: int) -> int:
    return -(-size // 4) * 4


def _matrix(rows: int, columns: int) -> int:
    """Numbers in a matrix whose rows take an odd number of groups of four."""
    groups = -(-columns // 4)
    return _filled(rows) * 4 * (groups + (groups + 1) % 2)


def _braces(items: object) -> str:
    return "{" + ", ".join(map(str, items)) + "}"  # type: ignore[call-overload]
