"""Libraries that take one clip at a time: librosa, kaldi-native-fbank, soxr, SciPy and pyloudnorm, in loops."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import kaldi_native_fbank as knf
import librosa
import numpy as np
import pyloudnorm
import scipy.signal
import soxr

from benchmarks.audio_clips import RATE

One = Callable[[np.ndarray], object]


class ClipPeer(NamedTuple):
    """A loop over clips: `make(rate)` gives the function of one clip."""

    make: Callable[[int], One]
    threads: int = 1


def online(options, kind: Callable) -> One:
    """All frames of a clip, copied out."""

    def run(wave: np.ndarray) -> np.ndarray:
        computer = kind(options)
        computer.accept_waveform(RATE, wave)
        computer.input_finished()
        return np.stack([computer.get_frame(i) for i in range(computer.num_frames_ready)])

    return run


def kaldi_fbank(rate: int) -> One:
    options = knf.FbankOptions()
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 80
    return online(options, knf.OnlineFbank)


def kaldi_mfcc(rate: int) -> One:
    options = knf.MfccOptions()
    options.frame_opts.dither = 0
    return online(options, knf.OnlineMfcc)


def kaldi_whisper(rate: int) -> One:
    options = knf.WhisperFeatureOptions()
    return online(options, knf.OnlineWhisperFbank)


def librosa_whisper(rate: int) -> One:
    def run(wave: np.ndarray) -> np.ndarray:
        mel = librosa.feature.melspectrogram(y=wave, sr=rate, n_fft=400, hop_length=160, n_mels=80)
        level = np.log10(np.maximum(mel[:, :-1], 1e-10))
        return (np.maximum(level, level.max() - 8) + 4) / 4

    return run


def librosa_mel(rate: int) -> One:
    return lambda wave: librosa.feature.melspectrogram(y=wave, sr=rate, pad_mode="constant")


def librosa_there_and_back(rate: int) -> One:
    return lambda wave: librosa.istft(librosa.stft(wave, n_fft=400, hop_length=160), hop_length=160, n_fft=400)


def soxr_hq(rate: int) -> One:
    return lambda wave: soxr.resample(wave, rate, RATE, quality="HQ")


def polyphase(rate: int) -> One:
    shared = np.gcd(rate, RATE)
    return lambda wave: scipy.signal.resample_poly(wave, RATE // shared, rate // shared)


def butterworth(kind: str, ends: float | tuple[float, float]) -> Callable[[int], One]:
    def make(rate: int) -> One:
        sections = scipy.signal.butter(2, ends, kind, fs=rate, output="sos").astype(np.float32)
        return lambda wave: scipy.signal.sosfilt(sections, wave)

    return make


def loudness(rate: int) -> One:
    meter = pyloudnorm.Meter(rate)
    return meter.integrated_loudness


def normalize_loudness(rate: int) -> One:
    meter = pyloudnorm.Meter(rate)
    return lambda wave: pyloudnorm.normalize.loudness(wave, meter.integrated_loudness(wave), -23.0)


def convolved(rate: int) -> One:
    from benchmarks.audio_clips import responses

    response = responses()[4]
    return lambda wave: scipy.signal.oaconvolve(wave, response)[40 : 40 + len(wave)]


def plain(function: Callable, **settings) -> Callable[[int], One]:
    return lambda rate: lambda wave: function(wave, **settings)


PEERS: dict[str, dict[str, ClipPeer]] = {
    "whisper_log_mel": {"kaldi-native-fbank": ClipPeer(kaldi_whisper), "librosa": ClipPeer(librosa_whisper)},
    "kaldi_fbank": {"kaldi-native-fbank": ClipPeer(kaldi_fbank)},
    "kaldi_mfcc": {"kaldi-native-fbank": ClipPeer(kaldi_mfcc)},
    "librosa_mel": {"librosa": ClipPeer(librosa_mel)},
    "stft": {"librosa": ClipPeer(plain(librosa.stft, n_fft=400, hop_length=160))},
    "istft": {"librosa": ClipPeer(librosa_there_and_back)},
    "deltas": {"librosa": ClipPeer(plain(lambda x: [librosa.feature.delta(x, axis=0, order=n) for n in (1, 2)]))},
    "resample_48000": {"soxr HQ": ClipPeer(soxr_hq, 2), "scipy": ClipPeer(polyphase, 2)},
    "resample_44100": {"soxr HQ": ClipPeer(soxr_hq, 2), "scipy": ClipPeer(polyphase, 2)},
    "resample_8000": {"soxr HQ": ClipPeer(soxr_hq, 2), "scipy": ClipPeer(polyphase, 2)},
    "resample_16001": {"soxr HQ": ClipPeer(soxr_hq, 2)},
    "speed": {"soxr HQ": ClipPeer(lambda rate: lambda wave: soxr.resample(wave, 1.07, 1.0, quality="HQ"), 2)},
    "time_stretch": {"librosa": ClipPeer(plain(librosa.effects.time_stretch, rate=1.1))},
    "pitch_shift": {"librosa": ClipPeer(plain(librosa.effects.pitch_shift, sr=RATE, n_steps=2.5))},
    "reverb": {"scipy": ClipPeer(convolved, 2)},
    "low_pass": {"scipy": ClipPeer(butterworth("low", 2000.0), 2)},
    "high_pass": {"scipy": ClipPeer(butterworth("high", 300.0), 2)},
    "band_pass": {"scipy": ClipPeer(butterworth("band", (300.0, 3400.0)), 2)},
    "band_stop": {"scipy": ClipPeer(butterworth("bandstop", (300.0, 3400.0)), 2)},
    "loudness": {"pyloudnorm": ClipPeer(loudness, 2)},
    "normalize_loudness": {"pyloudnorm": ClipPeer(normalize_loudness, 2)},
    "trim": {"librosa": ClipPeer(plain(librosa.effects.trim, top_db=30.0))},
    "voice_activity": {"librosa": ClipPeer(plain(librosa.effects.split, top_db=30.0))},
}


def run(peer: ClipPeer, clips: np.ndarray, rate: int) -> Callable[[], list]:
    """A call that makes the batch, in as many threads as the peer has."""
    function = peer.make(rate)
    if peer.threads == 1:
        return lambda: quietly(list, map(function, clips))
    pool = ThreadPoolExecutor(peer.threads)
    return lambda: quietly(list, pool.map(function, clips))


def quietly(function: Callable, *operands) -> list:
    """Without warnings of the libraries, which would be printed over the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*operands)
