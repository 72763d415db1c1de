import pytest

from smkc.errors import SettingError
from smkc.paper.learn.settings import OPTIONS, LearnSettings, learn_settings


def test_without_options_the_defaults_stand():
    assert learn_settings(None) == LearnSettings()
    assert learn_settings({}, epochs=None) == LearnSettings()


def test_every_option_at_its_usual_value_changes_nothing():
    assert learn_settings(OPTIONS) == LearnSettings()


def test_options_reach_the_model_its_masks_and_its_training():
    found = learn_settings(
        {
            "width": 32,
            "n_masks": 3,
            "mask_ratio": 0.5,
            "mask_patterns": ["random"],
            "learning_rate": 0.01,
        },
        objective="recon",
        neighbours=7,
        epochs=4,
        device="cuda",
        seed=9,
    )
    assert (found.objective, found.width, found.n_masks, found.neighbours) == ("recon", 32, 3, 7)
    assert (found.masking.ratio, found.masking.patterns) == (0.5, ("random",))
    training = found.training
    assert (training.learning_rate, training.epochs) == (0.01, 4)
    assert (training.device, training.seed) == ("cuda", 9)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"widht": 3}, r"no option 'widht'; did you mean 'width'\?.*batch_size"),
        ({"epochs": 3}, "no option 'epochs'"),
        ({3: 3}, "no option 3"),
        ({"width": "wide"}, "width='wide': give a whole number from 1"),
        ({"width": 0}, "width=0: give a whole number from 1"),
        ({"width": 10**9}, "to 65,536"),
        ({"width": True}, "width=True"),
        ({"learning_rate": "quick"}, "learning_rate='quick': give a number"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: give a number"),
        ({"learning_rate": -1}, "learning_rate=-1"),
        ({"bf16": 1}, "bf16=1: give true or false"),
        ({"tokens": 2}, "tokens=2: give text"),
        ({"mask_patterns": "random"}, "mask_patterns='random': give a list"),
        ({"mask_patterns": ["stars"]}, "stars"),
        ({"mask_ratio": 2.0}, "between 0 and 1"),
        (["width"], r"learn=\['width'\]: give options by name"),
    ],
)
def test_options_that_make_no_sense(options, told):
    with pytest.raises(SettingError, match=told):
        learn_settings(options)
