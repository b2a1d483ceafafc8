"""Tune: settings under which some motions are followed best, searched for by Optuna."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError, BrachiateError, MotionError
from brachiate.filter.offline import OURS, filter_motion
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.settings import FilterSettings
from brachiate.motion.motion import Motion
from brachiate.progress import Bar

#: What is searched for: what changes most when it is halved or doubled (``benchmarks/margins.py settings``). Damping goes with stiffness.
SEARCHED = (
    "joint_stiffness", "closing", "plan.centre", "plan.offset", "plan.turn", "plan.pressure", "plan.spin_change", "plan.push",
    "plan.height",
)  # fmt: skip
WIDE = 4.0  # times the default, and as much less
SEED = 0
FALLEN = 100.0  # [cm] that a fall costs, and as much again for what it left undone
EFFORT = 0.1  # [cm] that the whole strength of all joints costs: it decides between what is equally near
BETTER = 0.01  # by such a share at least, or it is not worth settings of its own
FEWEST = 10  # trials from which it can be said what matters


class Outcome(NamedTuple):
    """What became of one clip."""

    finished: bool
    done: float  # share of it
    off: float  # [cm] mean distance of joints from where they were
    off_root: float  # [cm] the same seen from the root
    effort: float  # largest torque as a share of what the motor has, mean of all joints

    @property
    def cost(self) -> float:
        """Finishing, then being near, then with little effort [cm]."""
        if not self.finished:
            return FALLEN * (2.0 - self.done)
        return 0.5 * (self.off + self.off_root) + EFFORT * self.effort

    def __str__(self) -> str:
        """Return some words."""
        near = f"{self.off:.2f} cm, {self.off_root:.2f} from the root"
        return near if self.finished else f"fell after {100 * self.done:.0f} %"


@dataclass(frozen=True)
class Tuned:
    """What a search has come to.

    Args:
        settings: The best found; the default ones if nothing was better by 1 %.
        default: What becomes of every clip with the default settings, by its name.
        tuned: And with these.
        matters: How much each setting that was searched for matters, as shares of 1; nothing if there were too few trials.
        trials: How many there were, the default among them.
        found: How they were found, as their file says it.
    """

    settings: FilterSettings
    default: Mapping[str, Outcome]
    tuned: Mapping[str, Outcome]
    matters: Mapping[str, float]
    trials: int
    found: Mapping[str, Any]

    @property
    def better(self) -> bool:
        """Whether anything was better than the default."""
        return self.settings != FilterSettings()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the settings, and how they were found, for ``brachiate filter --settings`` and :func:`brachiate.load_settings`."""
        self.settings.save(path, self.found)


def tune(
    motions: Motion | Reference | Iterable[Motion | Reference],
    *,
    trials: int = 40,
    seconds: float | None = None,
    strength: float = 1.0,
    mode: str = "offline",
    progress: bool = True,
) -> Tuned:
    """Search for settings under which motions are finished, then followed most closely, then with the least effort.

    Settings that matter are changed by up to four times, on a logarithmic scale; the defaults are tried first. The same comes out again.

    Args:
        motions: One or several, or references already cleaned up.
        trials: How many settings are tried.
        seconds: No new one is tried after this time [s]; then how many there are depends on the machine.
        strength: Of the figure's motors, as for :func:`brachiate.filter_motion`.
        mode: Likewise.
        progress: Whether to show a bar.
    """
    optuna = _optuna()
    trials, strength = validation.whole(trials, "trials", least=1), validation.number(strength, "strength", above=0.0, most=math.inf)
    seconds = math.inf if seconds is None else validation.number(seconds, "seconds", above=0.0)
    validation.one_of(mode, OURS, "mode")
    clips = _clips(motions, progress)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED))
    study.enqueue_trial({name: value_of(FilterSettings(), name) for name in SEARCHED})
    tried: list[dict[str, Outcome]] = []
    began = time.perf_counter()
    with Bar("tuning", progress) as bar:
        bar.show(0.0)
        while len(tried) < trials and (not tried or time.perf_counter() - began < seconds):
            trial = study.ask()
            settings = with_values(FilterSettings(), {name: _suggested(trial, name) for name in SEARCHED})
            outcomes = {}
            for k, (name, reference) in enumerate(clips.items()):
                outcomes[name] = _tried(reference, settings, strength, mode, first=not tried)
                bar.show((len(tried) + (k + 1) / len(clips)) / trials)
            study.tell(trial, _mean(outcomes))
            tried.append(outcomes)
    best = min(range(len(tried)), key=lambda k: _mean(tried[k]))
    if _mean(tried[best]) > (1.0 - BETTER) * _mean(tried[0]):
        best = 0
    settings = with_values(FilterSettings(), study.trials[best].params) if best else FilterSettings()
    matters = _matters(optuna, study) if len(tried) >= FEWEST else {}
    found = {
        "by": f"brachiate tune, with Optuna {optuna.__version__} (TPE, seed {SEED})",
        "trials": len(tried),
        "best": best,
        "mode": mode,
        "strength": "none" if math.isinf(strength) else strength,
        "searched": list(SEARCHED),
        "times": [1.0 / WIDE, WIDE],
        "clips": {name: {"default": str(tried[0][name]), "tuned": str(tried[best][name])} for name in clips},
        "matters": {name: round(share, 3) for name, share in matters.items()},
    }
    return Tuned(settings, tried[0], tried[best], matters, len(tried), found)


def _optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415  (an extra)
    except ImportError:
        raise BrachiateError("Tuning needs Optuna, which is not installed: pip install 'brachiate[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would say every trial
    return optuna


def _clips(motions: Any, progress: bool) -> dict[str, Reference]:
    """References by name; the clean-up is the same for all trials."""
    given = [motions] if isinstance(motions, Motion | Reference) else list(motions) if isinstance(motions, Iterable) else [motions]
    if not given:
        raise ArgumentError("motions: expected one at least.")
    clips: dict[str, Reference] = {}
    with Bar("cleaning up", progress) as bar:
        for k, motion in enumerate(given):
            bar.show(k / len(given))
            reference = motion if isinstance(motion, Reference) else clean(motion)
            name = reference.original.name
            clips[name if name not in clips else f"{name} {k + 1}"] = reference
    return clips


def _tried(reference: Reference, settings: FilterSettings, strength: float, mode: str, first: bool) -> Outcome:
    try:
        done = filter_motion(reference, settings=settings, strength=strength, mode=mode, progress=False)
    except BrachiateError as problem:
        if first:  # what is refused with the defaults is no matter of settings
            raise MotionError(f"{reference.original.name} cannot be filtered: {problem}") from None
        return Outcome(False, 0.0, math.nan, math.nan, math.nan)
    lasts = reference.times[-1] - reference.times[0]
    t, effort = done.tracking, float(np.mean(list(done.effort_share.values()) or [0.0]))
    return Outcome(done.finished, float(done.motion.duration / lasts), t["mpjpe_global_cm"], t["mpjpe_root_aligned_cm"], effort)


def _mean(outcomes: Mapping[str, Outcome]) -> float:
    return sum(outcome.cost for outcome in outcomes.values()) / len(outcomes)


def _suggested(trial: Any, name: str) -> float:
    usual = value_of(FilterSettings(), name)
    return trial.suggest_float(name, usual / WIDE, usual * WIDE, log=True)


def _matters(optuna: Any, study: Any) -> dict[str, float]:
    """How much each setting sets good trials apart from all, the most important first."""
    if len({trial.value for trial in study.trials}) < 2:
        return {}
    found = optuna.importance.get_param_importances(study, evaluator=optuna.importance.PedAnovaImportanceEvaluator())
    return {name: float(share) for name, share in found.items()}


def value_of(settings: FilterSettings, name: str) -> float:
    """A setting by its name; the plan's with ``plan.`` before it."""
    group, _, last = name.rpartition(".")
    return float(getattr(settings.plan if group else settings, last))


def with_values(settings: FilterSettings, values: Mapping[str, float]) -> FilterSettings:
    """Settings with other values by name; damping of joints changes with their stiffness, so that they swing as they did."""
    mine, plan = {}, {}
    for name, value in values.items():
        group, _, last = name.rpartition(".")
        (plan if group else mine)[last] = value
    if "joint_stiffness" in mine and "joint_damping" not in mine:
        mine["joint_damping"] = settings.joint_damping * math.sqrt(mine["joint_stiffness"] / settings.joint_stiffness)
    return replace(settings, **mine, plan=replace(settings.plan, **plan))
