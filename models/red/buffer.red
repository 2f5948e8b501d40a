-- The bounded buffer with semaphores whose queues are made of pointers. Who has to wait in a mode joins the queue, sets
-- `blocked` and waits in the next mode until the one that signals takes it out. 10 modes, 26 transitions.

-- shoal: set M=3 verdict=holds full=6534

const M = 4;

global pointer mutex_head, mutex_tail, empty_head, empty_tail, full_head, full_tail;
global discrete mutex, empty, full : 0..10;
global discrete count : 0..5;
local pointer next, prev;
local discrete blocked : 0..1;

process producer : (M + 1) / 2 {
  mode 0 {  -- wait(empty)
    when blocked == 0 and empty > 0 may empty = empty - 1; goto 1;
    when blocked == 0 and empty == 0 and empty_tail == NULL may
      empty_head = P; empty_tail = P; next = NULL; blocked = 1; goto 1;
    when blocked == 0 and empty == 0 and empty_tail != NULL may
      prev = empty_tail; next = NULL; empty_tail->next = P; empty_tail = P; blocked = 1; goto 1;
  }
  mode 1 {  -- wait(mutex)
    when blocked == 0 and mutex > 0 may mutex = mutex - 1; goto 2;
    when blocked == 0 and mutex == 0 and mutex_tail == NULL may
      mutex_head = P; mutex_tail = P; next = NULL; blocked = 1; goto 2;
    when blocked == 0 and mutex == 0 and mutex_tail != NULL may
      prev = mutex_tail; next = NULL; mutex_tail->next = P; mutex_tail = P; blocked = 1; goto 2;
  }
  mode 2 { when blocked == 0 may count = count + 1; goto 3; }
  mode 3 {  -- signal(mutex)
    when blocked == 0 and mutex_head == NULL may mutex = mutex + 1; goto 4;
    when blocked == 0 and mutex_head != NULL and mutex_head == mutex_tail may
      mutex_head->blocked = 0; mutex_head = NULL; mutex_tail = NULL; goto 4;
    when blocked == 0 and mutex_head != NULL and mutex_head != mutex_tail may
      mutex_head->blocked = 0; mutex_head->next->prev = NULL; mutex_head = mutex_head->next; goto 4;
  }
  mode 4 {  -- signal(full)
    when blocked == 0 and full_head == NULL may full = full + 1; goto 0;
    when blocked == 0 and full_head != NULL and full_head == full_tail may
      full_head->blocked = 0; full_head = NULL; full_tail = NULL; goto 0;
    when blocked == 0 and full_head != NULL and full_head != full_tail may
      full_head->blocked = 0; full_head->next->prev = NULL; full_head = full_head->next; goto 0;
  }
}

process consumer : M / 2 {
  mode 5 {  -- wait(full)
    when blocked == 0 and full > 0 may full = full - 1; goto 6;
    when blocked == 0 and full == 0 and full_tail == NULL may
      full_head = P; full_tail = P; next = NULL; blocked = 1; goto 6;
    when blocked == 0 and full == 0 and full_tail != NULL may
      prev = full_tail; next = NULL; full_tail->next = P; full_tail = P; blocked = 1; goto 6;
  }
  mode 6 {  -- wait(mutex)
    when blocked == 0 and mutex > 0 may mutex = mutex - 1; goto 7;
    when blocked == 0 and mutex == 0 and mutex_tail == NULL may
      mutex_head = P; mutex_tail = P; next = NULL; blocked = 1; goto 7;
    when blocked == 0 and mutex == 0 and mutex_tail != NULL may
      prev = mutex_tail; next = NULL; mutex_tail->next = P; mutex_tail = P; blocked = 1; goto 7;
  }
  mode 7 { when blocked == 0 may count = count - 1; goto 8; }
  mode 8 {  -- signal(mutex)
    when blocked == 0 and mutex_head == NULL may mutex = mutex + 1; goto 9;
    when blocked == 0 and mutex_head != NULL and mutex_head == mutex_tail may
      mutex_head->blocked = 0; mutex_head = NULL; mutex_tail = NULL; goto 9;
    when blocked == 0 and mutex_head != NULL and mutex_head != mutex_tail may
      mutex_head->blocked = 0; mutex_head->next->prev = NULL; mutex_head = mutex_head->next; goto 9;
  }
  mode 9 {  -- signal(empty)
    when blocked == 0 and empty_head == NULL may empty = empty + 1; goto 5;
    when blocked == 0 and empty_head != NULL and empty_head == empty_tail may
      empty_head->blocked = 0; empty_head = NULL; empty_tail = NULL; goto 5;
    when blocked == 0 and empty_head != NULL and empty_head != empty_tail may
      empty_head->blocked = 0; empty_head->next->prev = NULL; empty_head = empty_head->next; goto 5;
  }
}

initially zero but mutex = 1, empty = 5;

safe "no overflow": 0 <= count <= 5;
safe "one at a time": forall p, q (p != q implies not ((mode[p] == 2 or mode[p] == 7) and blocked[p] == 0
  and (mode[q] == 2 or mode[q] == 7) and blocked[q] == 0));
