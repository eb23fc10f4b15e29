"""The parts of the contract over SQL, written once for every engine that speaks it."""
