-- The cycle with a mistake: the tail may leave and still be the tail.

-- shoal: set M=3 verdict=violated property="the cycle is not lost"

const M = 4;

global pointer L;
local pointer next, prev;

process node : M {
  mode 0 { when L == NULL may next = P; prev = P; L = P; goto 1;
           when L != NULL may next = L->next; prev = L; next->prev = P; L->next = P; L = P; goto 1; }
  mode 1 { when next == P may L = NULL; goto 0;
           when next != P and L == P may prev->next = next; next->prev = prev; goto 0;
           when next != P and L != P may prev->next = next; next->prev = prev; goto 0; }
}

initially zero;

safe "the cycle is not lost": not (L == NULL and exists p (mode[p] == 1));
