"""The oracle itself, on cases small enough to be worked out on paper."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests import naive

EXACT = 1e-15
GOLDEN = Path(__file__).parent / "golden" / "hashes.json"


def steps(*numbers):
    """A window of states of width 1."""
    return [[float(number)] for number in numbers]


def test_md5_is_the_one_of_rfc_1321_read_from_its_most_significant_byte():
    # RFC 1321: MD5("message digest") = f96b697d7cb7938d525a2f31aaf161d0
    assert naive.md5_number("message ", "digest") == 0xF96B697D7CB7938D525A2F31AAF161D0
    assert naive.md5_number("message ", "digest") % 512 == 0x1D0


def test_the_two_streams_and_their_signs_use_the_papers_suffixes():
    for stream in ("val", "pres"):
        bucket, sign = naive.bucket_and_sign("cpu", stream, 64)
        assert bucket == naive.md5_number(f"cpu#{stream}", "") % 64
        assert sign == (-1) ** (naive.md5_number(f"cpu#{stream}_sign", "") % 2)


def test_golden_hashes_agree_with_the_oracle():
    entries = json.loads(GOLDEN.read_text(encoding="ascii"))
    assert len(entries) == 50
    for entry in entries:
        for stream in ("val", "pres"):
            for width, bucket in entry[stream]["buckets"].items():
                actual = naive.bucket_and_sign(entry["identifier"], stream, int(width))
                assert actual == (bucket, entry[stream]["sign"])


def test_state_of_one_variable_holds_its_value_and_a_fifth():
    g = naive.state({"cpu": 2.0}, m=4)
    value_at, value_sign = naive.bucket_and_sign("cpu", "val", 4)
    presence_at, presence_sign = naive.bucket_and_sign("cpu", "pres", 4)
    expected = [0.0] * 8
    expected[value_at] = 2.0 * value_sign
    expected[4 + presence_at] = 0.2 * presence_sign
    assert g == expected


def test_state_of_colliding_variables_adds_with_signs():
    (_, sign_a), (_, sign_b) = (naive.bucket_and_sign(name, "val", 1) for name in "ab")
    (_, here_a), (_, here_b) = (naive.bucket_and_sign(name, "pres", 1) for name in "ab")
    value, presence = naive.state({"b": 4.0, "a": 3.0}, m=1)
    assert value == pytest.approx((3 * sign_a + 4 * sign_b) / math.sqrt(2), abs=EXACT)
    assert presence == pytest.approx(0.4 * (here_a + here_b) / math.sqrt(2), abs=EXACT)


def test_presence_saturates_at_five_variables():
    def weight(n_variables, **options):
        row = {f"v{i}": 0.0 for i in range(n_variables)}
        plain = naive.bucket_and_sign
        total = sum(plain(name, "pres", 1)[1] for name in row)
        return naive.state(row, m=1, normalise=False, **options)[1] / total

    assert weight(3) == pytest.approx(0.6, abs=EXACT)
    assert weight(5) == pytest.approx(1.0, abs=EXACT)
    assert weight(9) == pytest.approx(1.0, abs=EXACT)
    assert weight(9, saturate=False) == pytest.approx(1.8, abs=EXACT)


def test_state_options_drop_presence_and_normalisation():
    row = {f"v{i}": 1.0 for i in range(4)}
    assert naive.state(row, m=8, presence=False)[8:] == [0.0] * 8
    plain, halved = naive.state(row, m=8, normalise=False), naive.state(row, m=8)
    assert plain == [2 * entry for entry in halved]


def test_an_empty_row_gives_zeros_and_huge_values_are_clamped():
    assert naive.state({}, m=3) == [0.0] * 6
    assert max(map(abs, naive.state({"a": -1e38}, m=3))) == 1e16


def test_image_of_a_single_spike():
    # g = 0, (3,4), 0: distances 5, 0, 5, median 5; delta = 0, (3,4), -(3,4): 5, 10, 5, median 5
    image = naive.image([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    half, same = math.log(1.5), 0.0
    third = math.log(3)
    expected = [
        [[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]],
        [[1, 0.5, 0.5], [0.5, 1, 0], [0.5, 0, 1]],
        [[1, 0.5, 0.5], [0.5, 1, 1], [0.5, 1, 1]],
        [[0, half, same], [half, 0, half], [same, half, 0]],
        [[0, half, half], [half, 0, third], [half, third, 0]],
        [[0, half, half], [half, 0, same], [half, same, 0]],
    ]
    np.testing.assert_allclose(image, expected, rtol=0, atol=EXACT)


def test_cosine_of_an_oblique_pair():
    # (1,0) and (3,4): cos = 3/5, mapped to 4/5
    assert naive.cosine([[1.0, 0.0], [3.0, 4.0]])[0, 1] == pytest.approx(0.8, abs=EXACT)


def test_sigma_of_an_even_number_of_distances_is_the_mean_of_the_middle_two():
    # 0, 1, 3, 7: distances 1, 2, 3, 4, 6, 7, so sigma = 3.5
    expected = math.log1p(49 / (2 * 3.5**2))
    assert naive.log_distance(steps(0, 1, 3, 7))[0, 3] == pytest.approx(expected, abs=EXACT)


def test_sigma_falls_back_to_the_positive_distances():
    # six distances 0 and four distances 2: the median is 0, that of the positive ones 2
    log = naive.log_distance(steps(0, 0, 0, 0, 2))
    assert log[0, 4] == pytest.approx(math.log(1.5), abs=EXACT)
    assert log[0, 1] == 0


def test_scale_token():
    # sigma = 5: tanh(log 5) = (25 - 1)/(25 + 1)
    assert naive.scale_token(steps(0, 5, 0)) == pytest.approx(24 / 26, abs=EXACT)
    assert naive.scale_token(steps(4, 4, 4)) == -1.0
    assert naive.scale_token(steps(4)) == -1.0


def test_a_constant_window_has_no_distance():
    assert not naive.log_distance(steps(2, 2, 2)).any()
    assert (naive.cosine(steps(2, 2, 2)) == 1).all()
    assert (naive.cosine(steps(0, 0)) == [[1, 0.5], [0.5, 1]]).all()


def test_band_takes_its_sigma_over_its_own_pairs():
    # 0, 1, 3, 7 with lags 1 and 2: distances 1, 2, 4, 3, 6, so sigma = 3 and 2 sigma^2 = 18
    actual = naive.band(steps(0, 1, 3, 7), 2, ["log_g", "cos_g"])
    logs = [[1 / 18, 4 / 18, 16 / 18, 0], [9 / 18, 36 / 18, 0, 0]]
    np.testing.assert_allclose(actual[0], np.log1p(logs), rtol=0, atol=EXACT)
    np.testing.assert_array_equal(actual[1], [[0.5, 1, 1, 0], [0.5, 1, 0, 0]])


def test_a_band_wider_than_the_window_is_padded_with_zeros():
    actual = naive.band(steps(0, 1), 3, ["log_g"])
    np.testing.assert_allclose(actual[0, 0], [math.log(1.5), 0], rtol=0, atol=EXACT)
    assert not actual[0, 1:].any()


def test_anchor_takes_its_sigma_over_steps_that_are_not_the_anchor():
    # anchors 0 and 3: distances 1, 3, 7 and 7, 6, 4, so sigma = 5 and 2 sigma^2 = 50
    actual = naive.anchor(steps(0, 1, 3, 7), 2, ["log_g", "cos_g"])
    logs = [[0, 49 / 50], [1 / 50, 36 / 50], [9 / 50, 16 / 50], [49 / 50, 0]]
    np.testing.assert_allclose(actual[0], np.log1p(logs), rtol=0, atol=EXACT)
    np.testing.assert_array_equal(actual[1], [[1, 0.5], [0.5, 1], [0.5, 1], [0.5, 1]])


def test_anchors_are_spread_from_the_first_step_to_the_last():
    assert naive.anchor_steps(64, 1) == [0]
    assert naive.anchor_steps(64, 8) == [0, 9, 18, 27, 36, 45, 54, 63]
    assert naive.anchor_steps(6, 3) == [0, 2, 5]  # 2.5 goes to the even number


def test_pooling_takes_means_before_the_image():
    # 0, 2 | 4, 6 has means 1 and 5
    actual = naive.pooled(steps(0, 2, 4, 6), 2, ["log_g"])
    assert actual[0, 0, 1] == pytest.approx(math.log(1.5), abs=EXACT)


def test_projection_mixes_the_states_before_the_image():
    # (1,0) and (0,1) become 2 and 3, both positive, so their cosine is 1
    actual = naive.projected([[1.0, 0.0], [0.0, 1.0]], np.array([[2.0], [3.0]]), ["cos_g"])
    assert actual[0, 0, 1] == 1


def test_sequence_is_the_states_in_order():
    assert naive.sequence([[1.0, 2.0], [3.0, 4.0]]) == [1.0, 2.0, 3.0, 4.0]


def test_knn_score_is_the_mean_of_the_nearest_cosine_distances():
    references = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [3.0, 4.0]]
    # distances from (2,0): 0, 1, 2, 0.4
    assert naive.knn_score([2.0, 0.0], references, 2) == pytest.approx(0.2, abs=EXACT)
    assert naive.knn_score([0.0, 0.0], references, 2) == 1.0
