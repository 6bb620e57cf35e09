"""What comes into the converter: one small file a format, each making a `Source` of what a stranger sent."""
