-- The lock of Mellor-Crummey and Scott with a mistake: who leaves does not wait for its successor to link itself to the
-- queue, and follows a pointer that may still be NULL.

-- shoal: set M=3 verdict=violated property="memory fault"

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
           when L != P may goto 9; }                               -- next may be NULL
  mode 9 { when true may next->locked = TRUE; goto 0; }
}

initially zero;

safe "mutual exclusion":
  forall p, q (p != q implies not (6 <= mode[p] <= 9 and 6 <= mode[q] <= 9));
