"""Searches schedules on the device that runs them. The device, and who builds candidates, are handed in."""
