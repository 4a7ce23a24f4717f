"""Types, units, status, errors, checks, archives, kernels, threads and timers: what every other room stands on."""
