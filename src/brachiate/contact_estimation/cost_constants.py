"""Constants of the costs of contact modes (negative log-likelihoods), of whole motions and of frames that arrive one by one."""

CORRELATION_TIME = 0.02  # [s] of the errors of captured motion: costs of frames count by their duration relative to it
SPEED_SCALE, NORMAL_SPEED_SCALE = 0.3, 0.25  # [m/s] of a part in contact, along and normal to the ground
FREE_COST = 4.0  # of a part that is free: free parts have any height and speed
TAIL_COST = 8.0  # costs above it grow by their logarithm only
RESIDUAL_SCALE = 0.25  # of the weight: error of the forces that captured motion requires
UNCARRIED_SHARE, UNCARRIED_COST = 0.5, 14.0  # of the weight: a larger residual is no such error; its cost, if nothing carries the body
MAX_RESIDUAL_SHARE = 1.0  # larger residuals are alike
MOMENT_ARM = 0.5  # [m] lever arm that converts moments to forces
SUPPORT_SWITCH, END_SWITCH = 2.0, 1.5  # cost of touchdown and lift-off of a foot; of a change at its heel or front
