"""Constants of stances: where a foot leaves its foothold, in whole motions and in frames that arrive one by one."""

STANCE_MAX_DISTANCE = 0.025  # [m] of a foot in stance from its foothold
LIFTOFF_SPEED = 0.25  # [m/s] of a foot away from its foothold: a slower one skates
CREEP_SPEED = 0.15  # [m/s] of a foot that is being put down again
