-- A lock as a pointer to who holds it: shoal check lock.red

const M = 3;

global pointer L;

process node : M {
  mode 0 { when L == NULL may L = P; goto 1; }
  mode 1 { when true may L = NULL; goto 0; }
}

initially zero;

safe "one at most is inside":
  forall p, q (p != q implies not (mode[p] == 1 and mode[q] == 1));
