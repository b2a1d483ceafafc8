"""Height fields."""
from brachiate.compiled import outlined

@outlined
def on_field(Gm, A, S, i, a, b, R1, x1, R2, x2, margin):
    """Areas."""
    return 0
