"""The port of speech preparation: its files, its draws, and that no file gets another's features."""

from pathlib import Path

import jax
import numpy as np
import pytest
import soundfile

from jaxkit.port import Request

FOLDER = Path(__file__).parents[2] / "ports" / "speech_features"
QUICK = Request(quick=True)
# librosa asks audioread where libsndfile cannot read a file, which imports modules that Python has given up.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:PySoundFile")
RATE = 16000


@pytest.fixture(scope="module")
def noises(tmp_path_factory):
    folder = tmp_path_factory.mktemp("noises")
    rng = np.random.default_rng(3)
    for index in range(3):
        soundfile.write(folder / f"{index}.wav", 0.1 * rng.normal(size=30000 - 9000 * index), RATE, subtype="FLOAT")
    return tuple(str(folder / f"{index}.wav") for index in range(3))


def clip(module, seconds, rate=RATE, seed=0):
    return module("voices").voice(rate, round(seconds * rate), np.random.default_rng(seed))


@pytest.fixture(scope="module")
def mixed(module, tmp_path_factory):
    """Good and bad files in turn: their paths, and the reasons that are expected of the bad ones."""
    folder, wave = tmp_path_factory.mktemp("mixed"), clip(module, 1.0)
    soundfile.write(folder / "a.wav", wave, RATE, subtype="PCM_16")
    (folder / "b-empty.wav").write_bytes(b"")
    soundfile.write(folder / "c.flac", clip(module, 0.7, 44100, 1), 44100, subtype="PCM_24")
    (folder / "d-text.wav").write_text("not a sound " * 20)
    (folder / "q-text.mp3").write_text("not a sound " * 20)
    soundfile.write(folder / "e.wav", np.stack([wave, 0.5 * wave], axis=1), RATE, subtype="FLOAT")
    whole = (folder / "a.wav").read_bytes()
    (folder / "f-cut.wav").write_bytes(whole[: len(whole) * 2 // 3])
    soundfile.write(folder / "g.ogg", clip(module, 1.2, seed=2), RATE)
    soundfile.write(folder / "h-whole.flac", wave, RATE)
    flac = (folder / "h-whole.flac").read_bytes()
    (folder / "i-cut.flac").write_bytes(flac[: len(flac) * 2 // 3])
    soundfile.write(folder / "j-nan.wav", np.where(np.arange(RATE) == 5, np.nan, wave), RATE, subtype="FLOAT")
    soundfile.write(folder / "k-none.wav", np.zeros(0), RATE)
    soundfile.write(folder / "l-silent.wav", np.zeros(RATE), RATE)
    soundfile.write(folder / "m-click.wav", wave[:200], RATE)
    (folder / "n-bytes.raw").write_bytes(b"\1\2" * 4000)
    ogg = (folder / "g.ogg").read_bytes()
    (folder / "o-cut.ogg").write_bytes(ogg[: len(ogg) * 2 // 3])
    soundfile.write(folder / "p.wav", wave[:9001], RATE, subtype="PCM_U8")
    return folder


REASONS = {
    "b-empty.wav": "the file is empty",
    "d-text.wav": "not recognised",
    "f-cut.wav": "truncated",
    "i-cut.flac": "lost sync",
    "j-nan.wav": "1 samples are not finite",
    "k-none.wav": "no samples",
    "l-silent.wav": "silent",
    "m-click.wav": "12.5 ms",
    "n-bytes.raw": "raw samples",
    "o-cut.ogg": "truncated",
    "q-text.mp3": "of no known sound format",
}


@pytest.fixture(scope="module")
def prepared(module, mixed, noises):
    files = module("files").scan(mixed)
    return files, module("fast").prepare(jax.random.key(1), files, noises)


def test_every_bad_file_is_named_with_its_reason_and_no_good_one_is_lost(prepared):
    files, (features, skipped) = prepared
    found = {Path(one.path).name: one.reason for one in skipped}
    assert list(found) == list(REASONS), "in the order of the files"
    for name, told in REASONS.items():
        assert told in found[name], f"{name}: {found[name]}"
    lost = {Path(file).name for file, values in zip(files, features, strict=True) if values is None}
    assert lost == set(REASONS)


def test_each_file_gets_its_own_features_in_order(module, prepared, noises):
    files, (features, _) = prepared
    injected, slow = module("injected"), module("slow")
    choices = injected.draws(jax.random.key(1), len(files), noises)
    for file, choice, values in zip(files, choices, features, strict=True):
        if values is not None:
            expected = slow.prepare_file(file, choice, slow.load(noises[choice.noise], exact=True), exact=True)
            kept = injected.kept_mels(file)
            assert values.shape == expected.shape and values.dtype == np.float32
            np.testing.assert_allclose(values[:, kept], expected[:, kept], rtol=0, atol=2e-3, err_msg=file)


def test_features_do_not_depend_on_the_other_files(module, prepared, noises):
    files, (features, _) = prepared
    places = [0, 2, 4]
    alone = ["/nowhere/a.wav" if index not in places else file for index, file in enumerate(files)]
    again = module("fast").prepare(jax.random.key(1), alone, noises)
    assert {one.reason for one in again.skipped} == {"there is no such file"}
    for index in places:
        np.testing.assert_allclose(again.features[index], features[index], rtol=0, atol=1e-5)


def test_another_key_draws_other_noise(module, prepared, noises):
    files, (features, _) = prepared
    other = module("fast").prepare(jax.random.key(2), files, noises).features
    assert other[0].shape == features[0].shape and np.abs(other[0] - features[0]).max() > 0.01


@pytest.mark.parametrize("width", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_any_width_and_number_of_channels_is_the_same_sound(module, tmp_path, width):
    files = module("files")
    channels = np.stack([clip(module, 0.2, 22050, seed) for seed in range(3)], axis=1)
    soundfile.write(tmp_path / "a.wav", channels, 22050, subtype=width)
    found = files.header(str(tmp_path / "a.wav"))
    assert (found.rate, found.frames) == (22050, len(channels))
    room = np.full(len(channels) + 7, 9.0, np.float32)
    wave = files.decode(found, room)
    np.testing.assert_allclose(wave, channels.mean(axis=1), rtol=0, atol=2**-7 if width == "PCM_U8" else 2**-15)
    assert np.shares_memory(wave, room) and (room[len(channels) :] == 9.0).all()


def test_a_wave_that_was_written_to_a_pipe_is_no_damage(module, tmp_path):
    soundfile.write(tmp_path / "a.wav", clip(module, 0.2), RATE, subtype="PCM_16")
    data = bytearray((tmp_path / "a.wav").read_bytes())
    at = data.index(b"data") + 4
    data[at : at + 4] = b"\xff\xff\xff\xff"
    (tmp_path / "a.wav").write_bytes(data)
    assert module("files").header(str(tmp_path / "a.wav")).frames == 3200


def test_folders_are_searched_to_the_bottom(module, tmp_path):
    with pytest.raises(ValueError, match="no sound files"):
        module("files").scan(tmp_path)
    (tmp_path / "b" / "c").mkdir(parents=True)
    for name in ("b/c/2.FLAC", "1.wav", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    assert [Path(path).name for path in module("files").scan(tmp_path)] == ["1.wav", "2.FLAC"]
    with pytest.raises(NotADirectoryError, match="--input"):
        module("files").scan(tmp_path / "1.wav")


def test_a_noise_that_cannot_be_used_is_an_error(module, mixed):
    with pytest.raises(ValueError, match=r"j-nan\.wav: 1 samples"):
        module("fast").bank_of((str(mixed / "a.wav"), str(mixed / "j-nan.wav")))


def test_batches_hold_every_file_once(module):
    plan, files = module("plan"), module("files")
    rng = np.random.default_rng(0)
    headers = [files.Header(f"{i}", int(rng.integers(800, 400000)), (8000, 44100, 11025)[i % 3]) for i in range(100)]
    headers[7] = None
    groups = plan.grouped(headers)
    ids = np.concatenate([group.ids for group in groups])
    assert sorted(ids.tolist()) == [index for index in range(100) if index != 7]
    for group in groups:
        assert 1 <= len(group.ids) == len(group.headers) <= group.rows
        assert {header.rate for header in group.headers} == {group.rate}
        assert max(header.frames for header in group.headers) <= group.samples
    assert len({(group.rate, group.samples) for group in groups}) <= 3 * plan.MOST_LENGTHS
    assert plan.grouped([None, None]) == []


def test_no_files_have_no_features(module, noises):
    assert module("fast").prepare(jax.random.key(0), [], noises) == ([], [])


def test_ideal_resampling_moves_a_tone_to_the_other_rate(module):
    for rate, to, hz in ((44100, 16000, 3000), (8000, 16000, 1000), (48000, 16000, 7000)):
        at, wanted = np.arange(rate) / rate, np.arange(to) / to
        swell = lambda time: np.sin(np.pi * time) ** 4  # noqa: E731
        found = module("ideal").resampled(np.sin(2 * np.pi * hz * at) * swell(at), rate, to)
        np.testing.assert_allclose(found, np.sin(2 * np.pi * hz * wanted) * swell(wanted), rtol=0, atol=1e-9)


def test_alternatives_make_the_features_that_the_slow_program_makes(port, module, mixed, noises):
    files = tuple(str(mixed / name) for name in ("a.wav", "c.flac", "d-text.wav", "e.wav"))
    key = jax.random.key(4)
    expected = port.reference(key, files, noises)
    assert [values is None for values in expected] == [False, False, True, False]
    for name, side in port.alternatives.items():
        found = side(key, files, noises)
        assert found[2] is None
        for values, wanted in zip(found, expected, strict=True):
            if wanted is not None and "kaldi" not in name:
                np.testing.assert_allclose(values, wanted, rtol=0, atol=2e-4, err_msg=name)
            elif wanted is not None:
                assert abs(len(values) - len(wanted)) <= 1
                assert abs(np.median(values) - np.median(wanted)) < 0.05


def test_made_up_speech_repeats_by_seed_and_has_equal_lengths(module, tmp_path):
    voices, files = module("voices"), module("files")
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    first, again, other = (voices.write_voices(f, 4, seed=s) for f, s in zip(folders, (1, 1, 2), strict=True))
    assert [Path(path).read_bytes() for path in first] == [Path(path).read_bytes() for path in again]
    assert Path(first[0]).read_bytes() != Path(other[0]).read_bytes()
    headers = [[files.header(path)[1:] for path in paths] for paths in (first, other)]
    assert headers[0] == headers[1]
    assert all(1 <= frames / rate <= 12 for frames, rate in headers[0])


def test_recordings_that_are_named_but_missing_are_an_error(module, monkeypatch, tmp_path):
    sources = module("sources")
    monkeypatch.setenv("JAXKIT_SPEECH", str(tmp_path / "gone"))
    with pytest.raises(NotADirectoryError, match="JAXKIT_SPEECH names .*gone"):
        sources.files(QUICK, 4)
    monkeypatch.delenv("JAXKIT_SPEECH")
    assert all("voice" in path for path in sources.files(QUICK, 2))


def test_a_users_folder_becomes_cases_and_a_table(module, mixed):
    cases, request = module("cases"), Request(input=mixed, quick=True)
    names = [Path(file).name for case in cases.cases(request) for file in case.inputs[1]]
    assert {"a.wav", "c.flac", "e.wav"} <= set(names) and not set(REASONS) & set(names)
    rows = dict(cases.table(request).rows)
    assert set(rows) == {"all", *REASONS} and "6 of 17 read" in rows["all"]
    assert "44100 Hz" in rows["all"] and "lost sync" in rows["i-cut.flac"]
    assert len(module("sources").files(request, 40)) == 40
