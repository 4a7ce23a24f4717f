"""Looking at motions: a self-contained web page, and a still picture. Both take arrays and write files."""
