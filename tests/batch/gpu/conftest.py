"""Programs of JAX are compiled for the tests without optimization: compiling them takes most of their time."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
