"""Settings of a decoder that nothing would read are refused."""

import pytest

from padir.config.read import check_config
from padir.files import InputError
from tests.unit.config.small import changed, set_value

UNREAD = {
    "beam": (3, {"kind": "beam"}, {"kind": "greedy"}),
    "top_k": (5, {"temperature": 0.5, "stop": "fixed"}, {}),
    "top_p": (0.5, {"temperature": 0.5, "stop": "fixed"}, {}),
    "update_share": (0.5, {"update": "share", "stop": "fixed"}, {}),
    "coupled_by": ("entropy", {"remask": "coupled"}, {}),
    "coupling_threshold": (0.5, {"remask": "coupled"}, {}),
    "joint_reach": (2, {"joint": "neighbours"}, {}),
    "joint_penalty": (5.0, {"joint": "attention"}, {}),
    "remask_share": (0.5, {"remask": "constant"}, {}),
    "remask_count": (2, {"remask": "count"}, {}),
    "stop_confidence": (0.5, {"stop": "confidence"}, {}),
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_setting_that_its_decoder_does_not_read_is_refused(name):
    value, reading, other = UNREAD[name]
    read = changed("decoders.x", {name: value, **reading})
    assert getattr(check_config(read).decoders["x"], name) == value
    message = f"^config: decoders.x.{name} is {value}, which is read only with "
    with pytest.raises(InputError, match=message):
        check_config(changed("decoders.x", {name: value, **other}))
    # A default holds where it is read, and says nothing elsewhere.
    check_config(set_value(changed("decoders.x", other), f"decoder_defaults.{name}", value))
    default = type(check_config(read).decoders["x"]).model_fields[name].default
    check_config(changed("decoders.x", {name: default, **other}))
