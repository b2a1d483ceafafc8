"""Where a body as a whole is to go: plans of its centre of mass and momentum, over what is known of the motion ahead."""
