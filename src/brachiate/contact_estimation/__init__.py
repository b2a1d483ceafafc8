"""What carries a motion: where it touches, found or told, and the forces there."""
