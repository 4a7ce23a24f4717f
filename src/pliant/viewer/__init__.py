"""Pages, pictures and films of a motion, from arrays; `live` is the studio in the browser."""
