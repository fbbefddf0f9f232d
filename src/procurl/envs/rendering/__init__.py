"""Contact sheets of pictures, and animations of episodes."""
