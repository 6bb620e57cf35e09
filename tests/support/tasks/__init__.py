"""Makes tasks, models and data that are small enough to be built during a test."""
