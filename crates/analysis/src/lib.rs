//! What can be known of a Model without running it: symmetry proved or broken, and why.
