//! An answer computed from a record made by hand.
