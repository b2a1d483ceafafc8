"""What touches: areas of contact found between shapes, and the forces and impulses there, by one law."""
