"""The swinging rod: our side converges, and agrees with SoRoMoX on as many sections."""

from validation import rod_rollouts


def test_the_motion_is_converged():
    """Half of the sections and twice the step change the tip by less than what is asked of other programs."""
    assert rod_rollouts.distance(rod_rollouts.ours(), rod_rollouts.ours(8, 0.005)) < 1.0
