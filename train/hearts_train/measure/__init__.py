"""Measuring players: evaluations, tournaments, calibration, speed, and their figures; no torch."""
