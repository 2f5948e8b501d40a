/* A lock that processes take and give back: shoal check lock.pml */

bool lock;
byte inside;

active [3] proctype process() {
  do
  :: atomic { !lock -> lock = true };
     inside++;
     assert(inside == 1);        /* one at most is inside */
     inside--;
     lock = false
  od
}

ltl released { [] (lock -> <> !lock) }
