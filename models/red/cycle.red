-- A cycle with links in both directions that processes join and leave. L is its tail. 2 modes, 5 transitions.

-- shoal: set M=3 verdict=holds full=152
-- shoal: set M=4 verdict=holds full=3992

const M = 4;

global pointer L;
local pointer next, prev;

process node : M {
  mode 0 { when L == NULL may next = P; prev = P; L = P; goto 1;
           when L != NULL may next = L->next; prev = L; next->prev = P; L->next = P; L = P; goto 1; }
  mode 1 { when next == P may L = NULL; goto 0;
           when next != P and L == P may prev->next = next; next->prev = prev; L = prev; goto 0;
           when next != P and L != P may prev->next = next; next->prev = prev; goto 0; }
}

initially zero;

safe "the cycle is not lost": not (L == NULL and exists p (mode[p] == 1));
