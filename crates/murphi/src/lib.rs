//! Front end: Murphi, the union of the CMurphi and Rumur languages.
