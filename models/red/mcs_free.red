-- The lock of Mellor-Crummey and Scott when everything may be anything at the beginning, as the paper's definition has it:
-- L may point anywhere; local variables are written before they are read. Some runs hang, but it is still safe.

-- shoal: set M=2 verdict=holds full=2328
-- shoal: set M=3 verdict=holds states=488 inactive=2837
-- shoal: set M=4 verdict=holds states=2418 inactive=55536
-- shoal: set M=5 verdict=holds states=11486

const M = 3;

global pointer L;
local pointer next, prev;
local discrete locked : 0..1;          -- true: permission to enter

process node : M {
  mode 0 { when true may next = NULL; prev = P; goto 1; }
  mode 1 { when true may swap(prev, L); goto 2; }                  -- the old tail is exchanged for P
  mode 2 { when prev == NULL may goto 6;
           when prev != NULL may goto 3; }
  mode 3 { when true may locked = FALSE; goto 4; }
  mode 4 { when true may prev->next = P; goto 5; }
  mode 5 { when locked == TRUE may goto 6;
           when locked == FALSE may goto 5; }
  mode 6 { when true may goto 7; }                                 -- the critical section: 6 to 9
  mode 7 { when next == NULL may goto 8;
           when next != NULL may goto 9; }
  mode 8 { when L == P may L = NULL; goto 0;                       -- nobody came
           when L != P and next != NULL may goto 9;
           when L != P and next == NULL may goto 8; }
  mode 9 { when true may next->locked = TRUE; goto 0; }
}

initially free;

safe "mutual exclusion":
  forall p, q (p != q implies not (6 <= mode[p] <= 9 and 6 <= mode[q] <= 9));
