"""Tables in text: headers that name too little, and lines found by number."""

import numpy as np
import pytest

from jaxkit.sampling import text
from jaxkit.sampling.files import open_cloud


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "starts with ''; the first line that is no comment must name the columns"),
        ("1,2,3,4\n5,6,7,8\n", "starts with '1,2,3,4'; the first line that is no comment must name the columns"),
        ("x,y,z\n0,0,0\n", "holds .'center'.; a cloud needs"),
        ("x,y,radius\n0,0,0\n", "lacks z for center; its columns are x, y, radius"),
        ("x,y,z,a,b,c,qw,qx,qy\n", "lacks qz for quaternion"),
        ("x,y,z,a,b,c,quat_w\n", "holds quat_w; orientations are read from columns qw, qx, qy, qz"),
        ("x,y,z,radius,radius\n", "has columns of the same name: x, y, z, radius, radius"),
    ],
)
def test_other_headers_are_refused(content, message, tmp_path):
    path = tmp_path / "cloud.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match="cloud.csv " + message):
        open_cloud(path)


@pytest.mark.parametrize(
    "head", ["x;y;z;radius", "# x; y; z; radius", "# by hand, in metres\n#\nX;Y;Z;Radius", "#x;y;z;radius"]
)
def test_comments_may_come_before_the_names(head, tmp_path):
    path = tmp_path / "cloud.csv"
    path.write_text(f"{head}\n1;2;3;4\n5;6;7;8\n")
    cloud = open_cloud(path).to_memory()
    np.testing.assert_allclose(cloud.anchor.to_float64(cloud.bodies.center), [[1, 2, 3], [5, 6, 7]])
    np.testing.assert_array_equal(cloud.bodies.semi_axes[:, 0], [4, 8])


@pytest.mark.parametrize("body", ["", "\n", "\n\n  \n", "1,2,3,4\n", "1,2,3,4", "1,2,3,4\r\n\r\n"])
def test_white_space_at_the_end_is_no_row(body, tmp_path):
    path = tmp_path / "cloud.csv"
    path.write_bytes(b"\xef\xbb\xbfx,y,z,radius\n" + body.encode())
    assert len(open_cloud(path)) == ("1" in body)


def test_no_more_lines_are_taken_than_asked(tmp_path):
    path = tmp_path / "lines"
    path.write_text("head\na\nb\nc\nd\n")
    for most, end in ((0, 5), (1, 7), (3, 11), (4, 12)):
        found = text.lines(str(path), 5, None, most=most)
        assert found.rows == most and found.starts[-1] == end
        assert found.read(0, most) == ["a", "b", "c", "d"][:most]
    assert text.lines(str(path), 5, None, most=9).rows == 4


def test_long_white_space_at_the_end(tmp_path):
    path = tmp_path / "lines"
    path.write_text("a\nb" + " \n" * 100_000)
    assert text.lines(str(path), 0, None).rows == 2


def test_lines_with_and_without_numbers():
    numbers, unreadable = text.table(["1,2,3", " 4 ,x,6e2", "7,8", "9,10,nan", "1,,1"], ",", (2, 0))
    np.testing.assert_array_equal(numbers, [[3, 1], [600, 4], [np.nan, np.nan], [np.nan, 9], [1, 1]])
    np.testing.assert_array_equal(unreadable, [False, False, True, False, False])


def test_words_in_other_columns_do_no_harm(tmp_path):
    path = tmp_path / "cloud.csv"
    path.write_text("name,x,y,z,radius\nfirst,1,2,3,4\nsecond,5,6,7,8\n")
    cloud = open_cloud(path).to_memory()
    np.testing.assert_array_equal(cloud.anchor.to_float64(cloud.bodies.center), [[1, 2, 3], [5, 6, 7]])
