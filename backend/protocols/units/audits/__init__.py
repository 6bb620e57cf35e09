"""Results that count before they are proven, and how they are audited."""
