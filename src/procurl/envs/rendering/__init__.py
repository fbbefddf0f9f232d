"""Pictures and animations of episodes."""
