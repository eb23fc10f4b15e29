"""Documents made from memories: a dossier for each topic, the brief, and the capsule."""
