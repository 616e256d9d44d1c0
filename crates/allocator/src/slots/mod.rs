//! Page-granular slot bookkeeping.
