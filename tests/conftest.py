"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# Examples are deterministic. Bounds-checked and uncompiled code is slower and gets fewer of them.
common = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}
settings.register_profile("fast", max_examples=60, **common)
settings.register_profile("check", max_examples=15, **common)
settings.register_profile("off", max_examples=5, **common)
settings.load_profile("fast")
