"""Results that are in the model before they are proven: how they are kept, audited and taken out."""
