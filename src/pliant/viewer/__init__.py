"""Looking at motions: a self-contained web page and a still picture, from arrays; and live, in the browser (`live`)."""
