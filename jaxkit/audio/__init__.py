"""Sound: features that recognisers read, resampling, and augmentation, for one clip at a time.

Presets and filters are plain functions of one `Clip`, to be mapped over a batch; random ops have the one shape of
`jaxkit.Op`. Every function knows the true length of a padded clip: what lies beyond is never read, and is zero after.
"""

from jaxkit.audio.bank import Bank
from jaxkit.audio.cmvn import Statistics, apply_cmvn, cmvn, collect_cmvn, merge_cmvn, sliding_cmvn
from jaxkit.audio.coloured import coloured_noise, gaussian_snr
from jaxkit.audio.companding import a_law, decode_a_law, decode_mu_law, encode_a_law, encode_mu_law, mu_law
from jaxkit.audio.crush import bit_crush, clip
from jaxkit.audio.decibels import power_to_db
from jaxkit.audio.deltas import deltas
from jaxkit.audio.dither import dither
from jaxkit.audio.dropout import dropout, packet_loss
from jaxkit.audio.dynamic import resample_by
from jaxkit.audio.fbank_presets import ast_fbank, seamless_fbank, speech2text_fbank
from jaxkit.audio.filter_ops import band_pass, band_stop, high_pass, low_pass, peaking, shelf
from jaxkit.audio.filtered import sosfilt
from jaxkit.audio.gain import gain
from jaxkit.audio.hf import from_hf
from jaxkit.audio.kaldi import kaldi_fbank, kaldi_mfcc
from jaxkit.audio.lengths import output_length
from jaxkit.audio.loudness import loudness, normalize_loudness
from jaxkit.audio.mel import mel_filters
from jaxkit.audio.mel_presets import espnet_log_mel, librosa_mel, torchaudio_mel
from jaxkit.audio.mix_up import mix_up
from jaxkit.audio.nemo import nemo_log_mel
from jaxkit.audio.noise_ops import add_noise, first_sample
from jaxkit.audio.polarity import polarity
from jaxkit.audio.resample import resample
from jaxkit.audio.reverb import reverb
from jaxkit.audio.reverse import reverse
from jaxkit.audio.rir import simulate_rir
from jaxkit.audio.room_reverb import room_reverb
from jaxkit.audio.shift import shift
from jaxkit.audio.spec_augment import Masking, spec_augment
from jaxkit.audio.speed import speed
from jaxkit.audio.stack import stack_frames
from jaxkit.audio.stft import istft, stft
from jaxkit.audio.stretch import pitch_shift, time_stretch
from jaxkit.audio.telephone import telephone
from jaxkit.audio.time_warp import time_warp
from jaxkit.audio.trim import sounding, trim
from jaxkit.audio.vad import hysteresis, segments, voice_activity
from jaxkit.audio.vocoder import stretch_by
from jaxkit.audio.wav2vec2 import wav2vec2_norm
from jaxkit.audio.whisper import whisper_log_mel, whisper_peak
from jaxkit.audio.windows import window

__all__ = [
    "Bank",
    "Masking",
    "Statistics",
    "a_law",
    "add_noise",
    "apply_cmvn",
    "ast_fbank",
    "band_pass",
    "band_stop",
    "bit_crush",
    "clip",
    "cmvn",
    "collect_cmvn",
    "coloured_noise",
    "decode_a_law",
    "decode_mu_law",
    "deltas",
    "dither",
    "dropout",
    "encode_a_law",
    "encode_mu_law",
    "espnet_log_mel",
    "first_sample",
    "from_hf",
    "gain",
    "gaussian_snr",
    "high_pass",
    "hysteresis",
    "istft",
    "kaldi_fbank",
    "kaldi_mfcc",
    "librosa_mel",
    "loudness",
    "low_pass",
    "mel_filters",
    "merge_cmvn",
    "mix_up",
    "mu_law",
    "nemo_log_mel",
    "normalize_loudness",
    "output_length",
    "packet_loss",
    "peaking",
    "pitch_shift",
    "polarity",
    "power_to_db",
    "resample",
    "resample_by",
    "reverb",
    "reverse",
    "room_reverb",
    "seamless_fbank",
    "segments",
    "shelf",
    "shift",
    "simulate_rir",
    "sliding_cmvn",
    "sosfilt",
    "sounding",
    "spec_augment",
    "speech2text_fbank",
    "speed",
    "stack_frames",
    "stft",
    "stretch_by",
    "telephone",
    "time_stretch",
    "time_warp",
    "torchaudio_mel",
    "trim",
    "voice_activity",
    "wav2vec2_norm",
    "whisper_log_mel",
    "whisper_peak",
    "window",
]
