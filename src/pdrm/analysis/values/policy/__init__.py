"""What actions and policies are worth."""
