"""Types, units, status, errors, stage timers and the kernel decorator: what every other room stands on."""
