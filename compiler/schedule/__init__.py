"""Schedules: how a kernel's loops are ordered, tiled and tagged. Rules choose, steps transform."""
