"""Commands that run elsewhere, on engines that are asked through their own command lines."""
