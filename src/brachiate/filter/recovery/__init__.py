"""Recovery from falls: what is tried when a run of the filter falls, from its checkpoints or anew, until one run finishes."""
