"""What benchmarks/speed.py times: our decoders and training steps, and those of others.

All have random weights of one architecture, decode one sentence into exactly `TARGET` tokens, and
return nothing: their last step waits for the result. HF T5 and CTranslate2 come with the extra
`bench`; without it `peer_decoders` and `peer_training` are empty and say so.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

# The limit of AR is 2 * 11 + 10 tokens, so that every engine writes as many.
SOURCE, TARGET = 11, 32
SHORTLIST = 128
EXTRA = 'pip install -e ".[bench]"'


@dataclass(frozen=True)
class Size:
    """An architecture and the shape of its training batches.

    Attributes:
        architecture: settings that differ from the defaults, which are the paper's.
        vocabulary: rows of the table.
        rows, tokens: sentences of a training batch, and tokens of each.
    """

    architecture: dict[str, Any]
    vocabulary: int
    rows: int
    tokens: int


SIZES = {
    "paper": Size({"max_positions": 64, "length_classes": 64}, 32_128, 8, 32),
    "multi30k": Size(
        {
            "width": 128,
            "heads": 4,
            "head_width": 32,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "feed_forward_width": 512,
            "max_positions": 64,
            "length_classes": 64,
            "attention_dropout": False,
        },
        6_000,
        35,
        18,
    ),
    "demo": Size(
        {
            "width": 64,
            "heads": 4,
            "head_width": 16,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "feed_forward_width": 256,
            "max_positions": 64,
            "length_classes": 64,
        },
        450,
        56,
        12,
    ),
}
BFLOAT16 = ", bfloat16 weights"
"""End of the name of an engine whose weights are rounded for decoding."""
STEPS = 2
"""Training steps of one call of a training engine."""


def training_run(size: Size, system: str, longest: int = TARGET):
    """The run's settings, for at most so many tokens."""
    from padir.config.training import TrainingRun

    buckets = sorted({12, 16, 18, TARGET, longest})
    training = {"buckets": buckets, "dispatch_steps": STEPS}
    return TrainingRun(system=system, architecture=size.architecture, training=training)


def source_ids(size: Size, rows: int = 1) -> list[list[int]]:
    """Sources of `SOURCE` tokens with EOS."""
    random = np.random.default_rng(0)
    return random.integers(8, min(size.vocabulary, 400), (rows, SOURCE - 1)).tolist()


def model_of(size: Size, system: str, weights: str = "float32"):
    """A model with random weights of some precision, ready for decoding."""
    from padir.model.parameters import build, with_rounded_weights

    model = build(training_run(size, system), size.vocabulary, 0)
    model.embedder.keep_columns()
    return with_rounded_weights(model) if weights == "bfloat16" else model


def our_decoders(size: Size, rows: int = 1) -> dict[str, Callable[[], Any]]:
    """AR greedy and beam search, and PaDIR by passes and length candidates, with weights in
    float32 and in bfloat16; the latter would change nothing where a model computes in bfloat16.

    Args:
        size: of the model.
        rows: sentences decoded at once; more than one leaves out the beam and five candidates.
    """
    in_float32 = size.architecture.get("compute_dtype") != "bfloat16"
    return {
        f"{name}{suffix}": engine
        for weights, suffix in (("float32", ""), *([("bfloat16", BFLOAT16)] if in_float32 else []))
        for name, engine in _decoders(size, rows, weights).items()
    }


def _decoders(size: Size, rows: int, weights: str) -> dict[str, Callable[[], Any]]:
    from padir.config.decoder import RefinementDecoder, SearchDecoder
    from padir.decode.autoregressive import Searcher
    from padir.decode.refiner import Refiner

    sources = source_ids(size, rows)
    causal, parallel = model_of(size, "ar", weights), model_of(size, "padir", weights)
    engines: dict[str, Callable[[], Any]] = {}
    run = training_run(size, "ar")
    for kind in ("greedy", "beam") if rows == 1 else ("greedy",):
        searcher = Searcher(causal, run, SearchDecoder(kind=kind), size.vocabulary, sentences=rows)
        engines[f"AR {kind}"] = lambda searcher=searcher: list(searcher.batches(sources))
    run = training_run(size, "padir")
    for candidates, shortlist in ((1, 0), (5, 0), (5, SHORTLIST)) if rows == 1 else ((1, 0),):
        # Candidates of one length, which is given: random weights predict none.
        settings = RefinementDecoder(
            length_candidates=1, restarts=candidates, stop="fixed", shortlist=shortlist
        )
        refiner = Refiner(parallel, run, settings, size.vocabulary, 0, sentences=rows)
        name = f"{candidates} candidates" + (f", shortlist {shortlist}" if shortlist else "")
        # One pass has no shortlist.
        for passes in (4,) if shortlist else (1, 4):
            engines[f"PaDIR T={passes}, {name}"] = lambda refiner=refiner, passes=passes: list(
                refiner.batches(sources, passes, [TARGET] * rows)
            )
    return engines


def our_training(size: Size) -> dict[str, Callable[[], Any]]:
    """Steps of AR, and of PaDIR with two stages."""
    import jax

    from padir.training.step import Trainer

    random = np.random.default_rng(0)
    ids = random.integers(8, size.vocabulary, (2, STEPS, size.rows, size.tokens)).astype(np.int32)
    ids[..., -1] = 1
    engines: dict[str, Callable[[], Any]] = {}
    for system, label in (("ar", "AR"), ("padir", "PaDIR, 2 stages")):
        trainer = Trainer(training_run(size, system), size.vocabulary, size.vocabulary, 0)
        states = [trainer.initial_state()]

        def steps(trainer=trainer, states=states) -> None:
            states[0], totals = trainer.steps(states[0], ids[0], ids[1], [1e-3] * STEPS)
            jax.block_until_ready(totals)

        engines[label] = steps
    return engines


def hf_model(size: Size):
    """A T5 of the same sizes with random weights.

    Raises:
        ImportError: transformers or torch is missing.
    """
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    run = training_run(size, "ar").architecture
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=size.vocabulary,
        d_model=run.width,
        d_kv=run.head_width,
        d_ff=run.feed_forward_width,
        num_layers=run.encoder_layers,
        num_decoder_layers=run.decoder_layers,
        num_heads=run.heads,
        dropout_rate=run.dropout,
        feed_forward_proj="relu",
        decoder_start_token_id=0,
    )
    return T5ForConditionalGeneration(config)


def peer_decoders(size: Size, threads: int, rows: int = 1) -> dict[str, Callable[[], Any]]:
    """HF T5 in PyTorch and CTranslate2 in float32 and int8: greedy, and beam 5 for one sentence."""
    try:
        import ctranslate2
        import torch
        from ctranslate2.converters.transformers import T5Loader
    except ImportError as error:
        print(f"not timed: {error.name} is missing; {EXTRA}", file=sys.stderr)
        return {}
    torch.set_num_threads(threads)
    model = hf_model(size).eval()
    sources = [[*ids, 1] for ids in source_ids(size, rows)]
    batch = torch.tensor(sources)
    engines: dict[str, Callable[[], Any]] = {}
    beams = (1, 5) if rows == 1 else (1,)
    names = {1: "greedy", 5: "beam"}

    def generate(beam: int) -> None:
        with torch.inference_mode():
            model.generate(
                batch, min_new_tokens=TARGET, max_new_tokens=TARGET, num_beams=beam, do_sample=False
            )

    for beam in beams:
        engines[f"HF T5 {names[beam]}"] = lambda beam=beam: generate(beam)
    spec = T5Loader().get_model_spec(model)
    words = [f"<{index}>" for index in range(size.vocabulary)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.config.decoder_start_token, spec.config.eos_token = words[0], words[1]
    spec.config.bos_token = spec.config.unk_token = words[0]
    lines = [[words[index] for index in ids] for ids in sources]
    folder = Path(tempfile.mkdtemp(prefix="padir-ctranslate2-"))
    spec.validate()
    spec.optimize(quantization=None)
    spec.save(str(folder))
    lengths = {"min_decoding_length": TARGET, "max_decoding_length": TARGET}
    for kind in ("float32", "int8"):
        translator = ctranslate2.Translator(str(folder), compute_type=kind, intra_threads=threads)
        for beam in beams:
            engines[f"CTranslate2 {kind} {names[beam]}"] = partial(
                translator.translate_batch, lines, beam_size=beam, **lengths
            )
    return engines


def peer_training(size: Size, threads: int) -> dict[str, Callable[[], Any]]:
    """HF T5's step in PyTorch, with Adafactor, on batches of the same shape."""
    try:
        import torch
        from transformers import Adafactor
    except ImportError as error:
        print(f"not timed: {error.name} is missing; {EXTRA}", file=sys.stderr)
        return {}
    torch.set_num_threads(threads)
    model = hf_model(size).train()
    optimizer = Adafactor(model.parameters(), lr=1e-3, relative_step=False, scale_parameter=True)
    ids = torch.randint(8, size.vocabulary, (size.rows, size.tokens))

    def steps() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()

    return {"HF T5": steps}
