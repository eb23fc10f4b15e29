"""From the queue of episodes into the graph, and from there into recall's index."""
