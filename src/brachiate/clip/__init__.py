"""Motion as files have it: a skeleton of named joints, and how each turns and moves in its parent, frame by frame."""
