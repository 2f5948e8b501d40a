-- Readers and writers with a mistake: every reader that leaves lets a writer in, not only the last.

-- shoal: set M=3 verdict=violated property="nobody reads while one writes"

const M = 4;

global pointer mutex_head, mutex_tail, wrt_head, wrt_tail;
global discrete mutex, wrt : 0..15;
global discrete readcount : 0..(M + 1) / 2;
local pointer next, prev;
local discrete go : 0..1;

process reader : (M + 1) / 2 {
  mode 0 {  -- wait(mutex)
    when go == 0 and mutex_head != P and prev == NULL and mutex > 0 may mutex = mutex - 1; goto 1;
    when go == 0 and mutex_head != P and prev == NULL and mutex == 0 and mutex_tail == NULL may
      mutex_head = P; mutex_tail = P; next = NULL; goto 0;
    when go == 0 and mutex_head != P and prev == NULL and mutex == 0 and mutex_tail != NULL may
      prev = mutex_tail; next = NULL; mutex_tail->next = P; mutex_tail = P; goto 0;
    when go == 1 may go = 0; goto 1;
  }
  mode 1 { when true may readcount = readcount + 1; goto 2; }
  mode 2 {
    when readcount == 1 may goto 3;
    when readcount != 1 may goto 4;
  }
  mode 3 {  -- wait(wrt)
    when go == 0 and wrt_head != P and prev == NULL and wrt > 0 may wrt = wrt - 1; goto 4;
    when go == 0 and wrt_head != P and prev == NULL and wrt == 0 and wrt_tail == NULL may
      wrt_head = P; wrt_tail = P; next = NULL; goto 3;
    when go == 0 and wrt_head != P and prev == NULL and wrt == 0 and wrt_tail != NULL may
      prev = wrt_tail; next = NULL; wrt_tail->next = P; wrt_tail = P; goto 3;
    when go == 1 may go = 0; goto 4;
  }
  mode 4 {  -- signal(mutex)
    when mutex_head == NULL may mutex = mutex + 1; goto 5;
    when mutex_head != NULL and mutex_head == mutex_tail may
      mutex_head->go = 1; mutex_head = NULL; mutex_tail = NULL; goto 5;
    when mutex_head != NULL and mutex_head != mutex_tail may
      mutex_head->go = 1; mutex_head->next->prev = NULL; mutex_head = mutex_head->next; goto 5;
  }
  mode 5 { when true may goto 6; }  -- reading
  mode 6 {  -- wait(mutex)
    when go == 0 and mutex_head != P and prev == NULL and mutex > 0 may mutex = mutex - 1; goto 7;
    when go == 0 and mutex_head != P and prev == NULL and mutex == 0 and mutex_tail == NULL may
      mutex_head = P; mutex_tail = P; next = NULL; goto 6;
    when go == 0 and mutex_head != P and prev == NULL and mutex == 0 and mutex_tail != NULL may
      prev = mutex_tail; next = NULL; mutex_tail->next = P; mutex_tail = P; goto 6;
    when go == 1 may go = 0; goto 7;
  }
  mode 7 { when true may readcount = readcount - 1; goto 8; }
  mode 8 {
    when true may goto 9;
  }
  mode 9 {  -- signal(wrt)
    when wrt_head == NULL may wrt = wrt + 1; goto 10;
    when wrt_head != NULL and wrt_head == wrt_tail may
      wrt_head->go = 1; wrt_head = NULL; wrt_tail = NULL; goto 10;
    when wrt_head != NULL and wrt_head != wrt_tail may
      wrt_head->go = 1; wrt_head->next->prev = NULL; wrt_head = wrt_head->next; goto 10;
  }
  mode 10 {  -- signal(mutex)
    when mutex_head == NULL may mutex = mutex + 1; goto 0;
    when mutex_head != NULL and mutex_head == mutex_tail may
      mutex_head->go = 1; mutex_head = NULL; mutex_tail = NULL; goto 0;
    when mutex_head != NULL and mutex_head != mutex_tail may
      mutex_head->go = 1; mutex_head->next->prev = NULL; mutex_head = mutex_head->next; goto 0;
  }
}

process writer : M / 2 {
  mode 11 {  -- wait(wrt)
    when go == 0 and wrt_head != P and prev == NULL and wrt > 0 may wrt = wrt - 1; goto 12;
    when go == 0 and wrt_head != P and prev == NULL and wrt == 0 and wrt_tail == NULL may
      wrt_head = P; wrt_tail = P; next = NULL; goto 11;
    when go == 0 and wrt_head != P and prev == NULL and wrt == 0 and wrt_tail != NULL may
      prev = wrt_tail; next = NULL; wrt_tail->next = P; wrt_tail = P; goto 11;
    when go == 1 may go = 0; goto 12;
  }
  mode 12 { when true may goto 13; }  -- writing
  mode 13 {  -- signal(wrt)
    when wrt_head == NULL may wrt = wrt + 1; goto 11;
    when wrt_head != NULL and wrt_head == wrt_tail may
      wrt_head->go = 1; wrt_head = NULL; wrt_tail = NULL; goto 11;
    when wrt_head != NULL and wrt_head != wrt_tail may
      wrt_head->go = 1; wrt_head->next->prev = NULL; wrt_head = wrt_head->next; goto 11;
  }
}

initially zero but mutex = 1, wrt = 1;

safe "nobody reads while one writes":
  forall p : reader (forall q : writer (not (mode[p] == 5 and mode[q] == 12)));
safe "one writer": forall p, q : writer (p != q implies not (mode[p] == 12 and mode[q] == 12));
