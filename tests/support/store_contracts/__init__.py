"""What every implementation of a store must do: classes of tests, whose subclasses give the store."""
