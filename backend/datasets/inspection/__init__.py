"""What the data of an owner are like: kind, classes, columns, examples, a proposed preprocessing."""
