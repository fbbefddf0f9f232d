"""PPO itself: settings, network, advantages and one update, as pure functions."""
