"""The dynamics filter: any motion in, a physically consistent one out."""
