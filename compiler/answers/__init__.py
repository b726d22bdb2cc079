"""Answers in place of outputs: classes with their labels, boxes, masks, points."""
