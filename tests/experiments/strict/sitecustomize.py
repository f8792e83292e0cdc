"""Programs that tests start: what our code calls and is deprecated is an error, as in tests."""

import warnings

warnings.filterwarnings(
    "error", category=DeprecationWarning, module="(jaxzero|experiments|benchmarks|tests)"
)
