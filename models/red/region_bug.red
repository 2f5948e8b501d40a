-- The conditional critical region with a mistake: who has let one go on that has waited opens the region, too.

-- shoal: set M=3 verdict=violated property="one in the region"

const M = 3;

global pointer mutex_head, mutex_tail, first_delay_head, first_delay_tail, second_delay_head, second_delay_tail;
global discrete first_count, second_count : 0..M;
global discrete mutex, first_delay, second_delay : 0..M + 1;
local pointer next, prev;
local discrete go : 0..1;

process node : M {
  mode 0 {  -- wait(mutex)
    when go == 0 and mutex_head != P and prev == NULL and mutex > 0 may mutex = mutex - 1; goto 1;
    when go == 0 and mutex_head != P and prev == NULL and mutex == 0 and mutex_tail == NULL may
      mutex_head = P; mutex_tail = P; next = NULL; goto 0;
    when go == 0 and mutex_head != P and prev == NULL and mutex == 0 and mutex_tail != NULL may
      prev = mutex_tail; next = NULL; mutex_tail->next = P; mutex_tail = P; goto 0;
    when go == 1 may go = 0; goto 1;
  }
  mode 1 {  -- does B hold?
    when true may goto 14;
    when true may goto 2;
  }
  mode 2 { when true may first_count = first_count + 1; goto 3; }
  mode 3 {
    when second_count > 0 may goto 4;
    when second_count == 0 may goto 5;
  }
  mode 4 {  -- signal(second_delay)
    when second_delay_head == NULL may second_delay = second_delay + 1; goto 6;
    when second_delay_head != NULL and second_delay_head == second_delay_tail may
      second_delay_head->go = 1; second_delay_head = NULL; second_delay_tail = NULL; goto 5;
    when second_delay_head != NULL and second_delay_head != second_delay_tail may
      second_delay_head->go = 1; second_delay_head->next->prev = NULL; second_delay_head = second_delay_head->next; goto 6;
  }
  mode 5 {  -- signal(mutex)
    when mutex_head == NULL may mutex = mutex + 1; goto 6;
    when mutex_head != NULL and mutex_head == mutex_tail may
      mutex_head->go = 1; mutex_head = NULL; mutex_tail = NULL; goto 6;
    when mutex_head != NULL and mutex_head != mutex_tail may
      mutex_head->go = 1; mutex_head->next->prev = NULL; mutex_head = mutex_head->next; goto 6;
  }
  mode 6 {  -- wait(first_delay)
    when go == 0 and first_delay_head != P and prev == NULL and first_delay > 0 may
      first_delay = first_delay - 1; goto 7;
    when go == 0 and first_delay_head != P and prev == NULL and first_delay == 0 and first_delay_tail == NULL may
      first_delay_head = P; first_delay_tail = P; next = NULL; goto 6;
    when go == 0 and first_delay_head != P and prev == NULL and first_delay == 0 and first_delay_tail != NULL may
      prev = first_delay_tail; next = NULL; first_delay_tail->next = P; first_delay_tail = P; goto 6;
    when go == 1 may go = 0; goto 7;
  }
  mode 7 { when true may first_count = first_count - 1; goto 8; }
  mode 8 { when true may second_count = second_count + 1; goto 9; }
  mode 9 {
    when first_count > 0 may goto 10;
    when first_count == 0 may goto 11;
  }
  mode 10 {  -- signal(first_delay)
    when first_delay_head == NULL may first_delay = first_delay + 1; goto 12;
    when first_delay_head != NULL and first_delay_head == first_delay_tail may
      first_delay_head->go = 1; first_delay_head = NULL; first_delay_tail = NULL; goto 12;
    when first_delay_head != NULL and first_delay_head != first_delay_tail may
      first_delay_head->go = 1; first_delay_head->next->prev = NULL; first_delay_head = first_delay_head->next; goto 12;
  }
  mode 11 {  -- signal(second_delay)
    when second_delay_head == NULL may second_delay = second_delay + 1; goto 12;
    when second_delay_head != NULL and second_delay_head == second_delay_tail may
      second_delay_head->go = 1; second_delay_head = NULL; second_delay_tail = NULL; goto 12;
    when second_delay_head != NULL and second_delay_head != second_delay_tail may
      second_delay_head->go = 1; second_delay_head->next->prev = NULL; second_delay_head = second_delay_head->next; goto 12;
  }
  mode 12 {  -- wait(second_delay)
    when go == 0 and second_delay_head != P and prev == NULL and second_delay > 0 may
      second_delay = second_delay - 1; goto 13;
    when go == 0 and second_delay_head != P and prev == NULL and second_delay == 0 and second_delay_tail == NULL may
      second_delay_head = P; second_delay_tail = P; next = NULL; goto 12;
    when go == 0 and second_delay_head != P and prev == NULL and second_delay == 0 and second_delay_tail != NULL may
      prev = second_delay_tail; next = NULL; second_delay_tail->next = P; second_delay_tail = P; goto 12;
    when go == 1 may go = 0; goto 13;
  }
  mode 13 { when true may second_count = second_count - 1; goto 1; }
  mode 14 { when true may goto 15; }  -- S
  mode 15 {
    when first_count > 0 may goto 16;
    when first_count == 0 and second_count > 0 may goto 17;
    when first_count == 0 and second_count == 0 may goto 18;
  }
  mode 16 {  -- signal(first_delay)
    when first_delay_head == NULL may first_delay = first_delay + 1; goto 0;
    when first_delay_head != NULL and first_delay_head == first_delay_tail may
      first_delay_head->go = 1; first_delay_head = NULL; first_delay_tail = NULL; goto 0;
    when first_delay_head != NULL and first_delay_head != first_delay_tail may
      first_delay_head->go = 1; first_delay_head->next->prev = NULL; first_delay_head = first_delay_head->next; goto 0;
  }
  mode 17 {  -- signal(second_delay)
    when second_delay_head == NULL may second_delay = second_delay + 1; goto 0;
    when second_delay_head != NULL and second_delay_head == second_delay_tail may
      second_delay_head->go = 1; second_delay_head = NULL; second_delay_tail = NULL; goto 0;
    when second_delay_head != NULL and second_delay_head != second_delay_tail may
      second_delay_head->go = 1; second_delay_head->next->prev = NULL; second_delay_head = second_delay_head->next; goto 0;
  }
  mode 18 {  -- signal(mutex)
    when mutex_head == NULL may mutex = mutex + 1; goto 0;
    when mutex_head != NULL and mutex_head == mutex_tail may
      mutex_head->go = 1; mutex_head = NULL; mutex_tail = NULL; goto 0;
    when mutex_head != NULL and mutex_head != mutex_tail may
      mutex_head->go = 1; mutex_head->next->prev = NULL; mutex_head = mutex_head->next; goto 0;
  }
}

initially zero but mutex = 1;

safe "one in the region": forall p, q (p != q implies not (mode[p] == 14 and mode[q] == 14));
