"""What hosts are, found out over SSH without Python there, and the site file that follows from it."""
