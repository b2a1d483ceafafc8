"""Constraints: connections, prescribed and coupled coordinates and limits as rows of one constraint set, solved together."""
