"""Searches schedules on the device that runs them. The device and the executor of builds are parameters."""
