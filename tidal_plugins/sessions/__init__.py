"""Sessions: what agents write into memory under rules, and what it does to the next recall."""
