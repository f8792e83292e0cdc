"""Algorithm 1: self-play, the window of examples, losses and learner, the gate, one iteration."""
