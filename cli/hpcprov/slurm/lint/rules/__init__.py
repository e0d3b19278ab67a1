"""One file for each concern, one function for each rule."""
