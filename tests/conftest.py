"""What holds for all tests."""

import signal

from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, and whether a kernel is compiled; no test is about that.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_runtest_setup(item):
    """Each test begins with the signal handlers of Python: Gmsh, which some tests start by themselves, replaces them,
    and under a shell in the background Ctrl-C is ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
