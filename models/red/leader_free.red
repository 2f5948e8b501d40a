-- The election of leaders when everything may be anything at the beginning, as the paper's definition has it: respond_id may
-- point anywhere; parent is written before it is read.

-- shoal: set M=3 verdict=holds states=22 inactive=98 full=728
-- shoal: set M=4 verdict=holds states=48 inactive=712 full=11240
-- shoal: set M=5 verdict=holds states=108 inactive=7002

const M = 4;

global pointer respond_id;
local pointer parent;

process node : M {
  mode 0 { when true may parent = NULL; goto 1; }
  mode 1 { when respond_id == NULL and parent == NULL may respond_id = P; goto 1;
           when respond_id != NULL and respond_id != P and parent == NULL may
             parent = respond_id; respond_id = NULL; goto 1; }
}

initially free;

safe "there is a root": exists p (mode[p] == 0 or parent[p] == NULL);
