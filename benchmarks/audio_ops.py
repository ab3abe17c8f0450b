"""What is measured: every preset, filter and op of `jaxkit.audio`. A new one is one line in `SUBJECTS`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.audio_clips import RATE, noises, responses
from jaxkit import Clip, Features, Op, audio

TORCH, LIBROSA, SCIPY = "torch", "librosa", "scipy"
KALDI, SOXR, PYLOUDNORM = "kaldi-native-fbank", "soxr HQ", "pyloudnorm"
AUDIOMENTATIONS, TORCH_AUDIOMENTATIONS = "audiomentations", "torch-audiomentations"
FRAMES, BINS = 100, 80
AUGMENTATION = {AUDIOMENTATIONS: 5.0, TORCH_AUDIOMENTATIONS: 5.0}


class Subject(NamedTuple):
    """One line of the benchmark.

    Attributes:
      make: builds the op, or the plain function of a clip; called late, so that a name may be missing.
      goals: peer to the least speed relative to it; other peers are only shown.
      rate: of the clips.
      of: `clip`, `features` (`[100 * seconds, 80]`), or `batch` for a function `(key, ids, clips)`.
    """

    make: Callable[[], Any]
    goals: dict[str, float] = {}
    rate: int = RATE
    of: str = "clip"


def settled(name: str, **settings) -> Callable[[], Callable]:
    """The plain function `audio.<name>` with settings."""
    return lambda: lambda example: getattr(audio, name)(example, **settings)


def made(name: str, **settings) -> Callable[[], Any]:
    """The op that the factory `audio.<name>` builds."""
    return lambda: getattr(audio, name)(**settings)


def inverse() -> Callable:
    def there_and_back(clip: Clip) -> Any:
        spectrum = audio.stft(clip, width=400, hop=160, n_fft=400)
        return audio.istft(spectrum, width=400, hop=160, n_fft=400)

    return there_and_back


def noisy() -> Op:
    return audio.add_noise(bank=audio.Bank.from_waves(noises(), rate=RATE), snr_db=(5.0, 20.0))


def in_rooms() -> Op:
    return audio.reverb(bank=audio.Bank.from_waves(responses(), rate=RATE))


def rooms() -> Callable:
    """A room of 3 to 8 metres for each member: the responses alone."""

    def simulated(key: jax.Array, ids: jax.Array, clips: Clip) -> jax.Array:
        size, source, microphone = jnp.moveaxis(jax.random.uniform(key, (len(ids), 3, 3)), 1, 0)
        size = 3.0 + 5.0 * size
        return jax.vmap(lambda *where: audio.simulate_rir(*where, t60=0.4))(size, source * size, microphone * size)

    return simulated


def resampled(rate: int, goal: float | None = 1.0) -> Subject:
    return Subject(settled("resample", rate=RATE), {} if goal is None else {SOXR: goal}, rate)


SUBJECTS = {
    "whisper_log_mel": Subject(settled("whisper_log_mel", pad_to=None), {TORCH: 2.5, KALDI: 8.0}),
    "whisper_log_mel_128": Subject(settled("whisper_log_mel", n_mels=128, pad_to=None), {TORCH: 2.5}),
    "kaldi_fbank": Subject(settled("kaldi_fbank", n_mels=80), {KALDI: 8.0}),
    "kaldi_mfcc": Subject(settled("kaldi_mfcc"), {KALDI: 8.0}),
    "nemo_log_mel": Subject(settled("nemo_log_mel"), {TORCH: 2.5}),
    "seamless_fbank": Subject(settled("seamless_fbank")),
    "ast_fbank": Subject(settled("ast_fbank")),
    "speech2text_fbank": Subject(settled("speech2text_fbank")),
    "wav2vec2_norm": Subject(settled("wav2vec2_norm")),
    "librosa_mel": Subject(settled("librosa_mel")),
    "torchaudio_mel": Subject(settled("torchaudio_mel"), {TORCH: 2.5}),
    "espnet_log_mel": Subject(settled("espnet_log_mel"), {TORCH: 2.5}),
    "stft": Subject(settled("stft", width=400, hop=160, n_fft=400)),
    "istft": Subject(inverse),
    "cmvn": Subject(settled("cmvn"), of="features"),
    "sliding_cmvn": Subject(settled("sliding_cmvn"), of="features"),
    "deltas": Subject(settled("deltas"), of="features"),
    "stack_frames": Subject(settled("stack_frames", size=4), of="features"),
    "spec_augment": Subject(made("spec_augment", policy="LD"), {TORCH: 5.0}, of="features"),
    "time_warp": Subject(made("time_warp"), of="features"),
    "resample_48000": resampled(48000),
    "resample_44100": resampled(44100),
    "resample_8000": resampled(8000),
    "resample_16001": resampled(16001, None),
    "speed": Subject(made("speed", factor=(0.9, 1.1)), AUGMENTATION),
    "time_stretch": Subject(made("time_stretch")),
    "pitch_shift": Subject(made("pitch_shift")),
    "add_noise": Subject(noisy, AUGMENTATION),
    "gaussian_snr": Subject(made("gaussian_snr", snr_db=(5.0, 20.0)), AUGMENTATION),
    "coloured_noise": Subject(made("coloured_noise", snr_db=(5.0, 20.0)), AUGMENTATION),
    "reverb": Subject(in_rooms, AUGMENTATION),
    "room_reverb": Subject(made("room_reverb")),
    "simulate_rir": Subject(rooms, of="batch"),
    "low_pass": Subject(made("low_pass")),
    "high_pass": Subject(made("high_pass")),
    "band_pass": Subject(made("band_pass")),
    "band_stop": Subject(made("band_stop")),
    "peaking": Subject(made("peaking")),
    "shelf": Subject(made("shelf")),
    "loudness": Subject(settled("loudness")),
    "normalize_loudness": Subject(made("normalize_loudness")),
    "telephone": Subject(made("telephone")),
    "mu_law": Subject(made("mu_law")),
    "a_law": Subject(made("a_law")),
    "bit_crush": Subject(made("bit_crush")),
    "clip": Subject(made("clip")),
    "gain": Subject(made("gain")),
    "polarity": Subject(made("polarity", p=1.0)),
    "reverse": Subject(made("reverse", p=1.0)),
    "shift": Subject(made("shift")),
    "shift_wrap": Subject(made("shift", wrap=True)),
    "dropout": Subject(made("dropout", chunks=(1, 1))),
    "packet_loss": Subject(made("packet_loss")),
    "mix_up": Subject(made("mix_up"), of="batch"),
    "trim": Subject(settled("trim", top_db=30.0)),
    "voice_activity": Subject(settled("voice_activity")),
}  # fmt: skip


def examples(subject: Subject, waves: np.ndarray) -> Any:
    """The batch that a subject takes: clips with their lengths, or features of the same duration."""
    if subject.of == "features":
        return Features(features(waves, subject.rate), np.full(len(waves), waves.shape[1] * FRAMES // subject.rate))
    return Clip(waves, np.full(len(waves), waves.shape[1], np.int32), subject.rate)


def features(waves: np.ndarray, rate: int) -> np.ndarray:
    """`[B, 100 * seconds, 80]` float32."""
    shape = len(waves), waves.shape[1] * FRAMES // rate, BINS
    return np.random.default_rng(3).normal(-5, 3, shape).astype(np.float32)
