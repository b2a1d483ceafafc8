"""Tuning of the filter settings to some motions by Optuna."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from brachiate import validation
from brachiate.deprecation import renamed_arguments, renamed_attribute
from brachiate.errors import ArgumentError, BrachiateError, MotionError
from brachiate.filter.offline import TRACKING_MODES, filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.settings import FilterSettings
from brachiate.motion.motion import Motion
from brachiate.progress import ProgressBar

#: Settings that are searched: those that change the result most when halved or doubled (``benchmarks/margins.py settings``).
SEARCHED_SETTINGS = (
    "joint_stiffness",
    "touchdown_time",
    "plan.com_position",
    "plan.foothold_offset",
    "plan.orientation",
    "plan.center_of_pressure",
    "plan.angular_acceleration",
    "plan.vertical_acceleration",
    "plan.com_height",
)
SEARCH_FACTOR = 4.0  # settings are searched from the default divided by it to the default times it
SEED = 0
FALL_COST = 100.0  # [cm] cost of a fall, and as much again for the share of the clip that is missing
TORQUE_COST = 0.1  # [cm] cost of a mean peak torque at the limits: decides between equal tracking errors
MIN_IMPROVEMENT = 0.01  # relative decrease of the cost, below which the defaults are kept
IMPORTANCE_MIN_TRIALS = 10  # trials from which importances of settings are evaluated


class ClipOutcome(NamedTuple):
    """Result of one clip under one set of settings."""

    success: bool
    share_done: float  # share of the clip until a fall
    mpjpe: float  # [cm] mean per-joint position error
    mpjpe_root_aligned: float  # [cm]
    torque_share: float  # peak torque relative to its limit, mean of all joints

    @property
    def cost(self) -> float:
        """Cost [cm]: finishing first, then tracking error, then torque."""
        if not self.success:
            return FALL_COST * (2.0 - self.share_done)
        return 0.5 * (self.mpjpe + self.mpjpe_root_aligned) + TORQUE_COST * self.torque_share

    def __str__(self) -> str:
        """Return a few words."""
        error = f"{self.mpjpe:.2f} cm ({self.mpjpe_root_aligned:.2f} cm root-aligned)"
        return error if self.success else f"fell after {100 * self.share_done:.0f} %"


@dataclass(frozen=True)
class TuningResult:
    """Result of a search for settings.

    Args:
        settings: Best settings; the defaults if none was better by 1 %.
        default: Outcome of every clip with the default settings, by its name.
        tuned: Outcome with the best settings.
        importance: Importance of each searched setting, as shares of 1; empty if there were too few trials.
        trials: Number of trials, the defaults included.
        provenance: How the settings were found, as written to their file.
    """

    settings: FilterSettings
    default: Mapping[str, ClipOutcome]
    tuned: Mapping[str, ClipOutcome]
    importance: Mapping[str, float]
    trials: int
    provenance: Mapping[str, Any]

    @property
    def improved(self) -> bool:
        """Whether any settings were better than the defaults."""
        return self.settings != FilterSettings()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the settings and their provenance, for ``brachiate filter --settings`` and :func:`brachiate.load_settings`."""
        self.settings.save(path, self.provenance)

    matters = renamed_attribute("matters", "importance")
    found = renamed_attribute("found", "provenance")
    better = renamed_attribute("better", "improved")


@renamed_arguments(strength="torque_scale")
def tune(
    motions: Motion | Reference | Iterable[Motion | Reference],
    *,
    trials: int = 40,
    seconds: float | None = None,
    torque_scale: float | None = 1.0,
    mode: str = "offline",
    progress: bool = False,
) -> TuningResult:
    """Search for settings with which motions are finished, tracked most closely, and with the smallest torques, in this order.

    Each searched setting varies from a quarter to four times its default, on a logarithmic scale; the defaults are the first trial. The
    search is deterministic.

    Args:
        motions: One or several motions or references.
        trials: Number of trials.
        seconds: No trial is started after this time [s]; the number of trials then depends on the machine.
        torque_scale: Factor of the figure's torque limits, as for :func:`brachiate.filter_motion`.
        mode: Likewise.
        progress: Whether to show a progress bar.
    """
    optuna = _import_optuna()
    trials = validation.integer(trials, "trials", minimum=1)
    scale = math.inf if torque_scale is None else validation.number(torque_scale, "torque_scale", above=0.0, maximum=math.inf)
    seconds = math.inf if seconds is None else validation.number(seconds, "seconds", above=0.0)
    validation.one_of(mode, TRACKING_MODES, "mode")
    clips = _make_references(motions, progress)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED))
    study.enqueue_trial({name: setting_value(FilterSettings(), name) for name in SEARCHED_SETTINGS})
    outcomes = _run_trials(study, clips, trials, seconds, scale, mode, progress)
    best = min(range(len(outcomes)), key=lambda k: _mean_cost(outcomes[k]))
    if _mean_cost(outcomes[best]) > (1.0 - MIN_IMPROVEMENT) * _mean_cost(outcomes[0]):
        best = 0
    settings = with_settings(FilterSettings(), study.trials[best].params) if best else FilterSettings()
    importance = _importance(optuna, study) if len(outcomes) >= IMPORTANCE_MIN_TRIALS else {}
    provenance = {
        "by": f"brachiate tune, with Optuna {optuna.__version__} (TPE, seed {SEED})",
        "trials": len(outcomes),
        "best": best,
        "mode": mode,
        "torque_scale": "none" if math.isinf(scale) else scale,
        "searched": list(SEARCHED_SETTINGS),
        "factors": [1.0 / SEARCH_FACTOR, SEARCH_FACTOR],
        "clips": {name: {"default": str(outcomes[0][name]), "tuned": str(outcomes[best][name])} for name in clips},
        "importance": {name: round(share, 3) for name, share in importance.items()},
    }
    return TuningResult(settings, outcomes[0], outcomes[best], importance, len(outcomes), provenance)


def _run_trials(
    study: Any, clips: Mapping[str, Reference], trials: int, seconds: float, torque_scale: float, mode: str, progress: bool
) -> list[dict[str, ClipOutcome]]:
    """Outcomes of all clips, trial by trial."""
    outcomes: list[dict[str, ClipOutcome]] = []
    start = time.perf_counter()
    with ProgressBar("tuning", progress) as bar:
        bar.show(0.0)
        while len(outcomes) < trials and (not outcomes or time.perf_counter() - start < seconds):
            trial = study.ask()
            settings = with_settings(FilterSettings(), {name: _suggest(trial, name) for name in SEARCHED_SETTINGS})
            outcome = {}
            for k, (name, reference) in enumerate(clips.items()):
                outcome[name] = _evaluate(reference, settings, torque_scale, mode, first=not outcomes)
                bar.show((len(outcomes) + (k + 1) / len(clips)) / trials)
            study.tell(trial, _mean_cost(outcome))
            outcomes.append(outcome)
    return outcomes


def _import_optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415  (an extra)
    except ImportError:
        raise BrachiateError("Tuning needs Optuna, which is not installed: pip install 'brachiate[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would log every trial
    return optuna


def _make_references(motions: Any, progress: bool) -> dict[str, Reference]:
    """References by name; they are the same for all trials."""
    given = [motions] if isinstance(motions, Motion | Reference) else list(motions) if isinstance(motions, Iterable) else [motions]
    if not given:
        raise ArgumentError("motions: expected at least one motion.")
    clips: dict[str, Reference] = {}
    with ProgressBar("making references", progress) as bar:
        for k, motion in enumerate(given):
            bar.show(k / len(given))
            reference = motion if isinstance(motion, Reference) else make_reference(motion)
            name = reference.name
            clips[name if name not in clips else f"{name} {k + 1}"] = reference
    return clips


def _evaluate(reference: Reference, settings: FilterSettings, torque_scale: float, mode: str, first: bool) -> ClipOutcome:
    try:
        result = filter_motion(reference, settings=settings, torque_scale=torque_scale, mode=mode, retries=0, progress=False)
    except BrachiateError as problem:
        if first:  # refused with the defaults, so settings are not the cause
            raise MotionError(f"{reference.name} cannot be filtered: {problem}") from None
        return ClipOutcome(False, 0.0, math.nan, math.nan, math.nan)
    duration = reference.times[-1] - reference.times[0]
    share, torque = float(result.motion.duration / duration), float(np.mean(list(result.peak_torque_shares.values()) or [0.0]))
    return ClipOutcome(result.success, share, result.tracking["mpjpe_global_cm"], result.tracking["mpjpe_root_aligned_cm"], torque)


def _mean_cost(outcomes: Mapping[str, ClipOutcome]) -> float:
    return sum(outcome.cost for outcome in outcomes.values()) / len(outcomes)


def _suggest(trial: Any, name: str) -> float:
    default = setting_value(FilterSettings(), name)
    return trial.suggest_float(name, default / SEARCH_FACTOR, default * SEARCH_FACTOR, log=True)


def _importance(optuna: Any, study: Any) -> dict[str, float]:
    """Importance of each setting for good trials, the most important first."""
    if len({trial.value for trial in study.trials}) < 2:
        return {}
    found = optuna.importance.get_param_importances(study, evaluator=optuna.importance.PedAnovaImportanceEvaluator())
    return {name: float(share) for name, share in found.items()}


def setting_value(settings: FilterSettings, name: str) -> float:
    """Value of a setting by its name; those of the plan are ``plan.NAME``."""
    group, _, last = name.rpartition(".")
    return float(getattr(settings.plan if group else settings, last))


def with_settings(settings: FilterSettings, values: Mapping[str, float]) -> FilterSettings:
    """Settings with other values by name; joint damping changes with joint stiffness, at a constant damping ratio."""
    own, plan = {}, {}
    for name, value in values.items():
        group, _, last = name.rpartition(".")
        (plan if group else own)[last] = value
    if "joint_stiffness" in own and "joint_damping" not in own:
        own["joint_damping"] = settings.joint_damping * math.sqrt(own["joint_stiffness"] / settings.joint_stiffness)
    return replace(settings, **own, plan=replace(settings.plan, **plan))
