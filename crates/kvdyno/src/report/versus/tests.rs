//! Comparisons of records made by hand.
