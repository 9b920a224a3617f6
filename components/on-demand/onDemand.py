# Comes with the wrapper.
