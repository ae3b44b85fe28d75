"""Measurements against named baselines; a package, because an old pyarrow installs one of the same name."""
