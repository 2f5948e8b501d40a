-- The election of leaders in a forest: a root offers to be a parent, and another root accepts. 2 modes, 3 transitions.

-- shoal: set M=3 verdict=holds full=68
-- shoal: set M=5 verdict=holds full=5562

const M = 4;

global pointer respond_id;
local pointer parent;

process node : M {
  mode 0 { when true may parent = NULL; goto 1; }
  mode 1 { when respond_id == NULL and parent == NULL may respond_id = P; goto 1;
           when respond_id != NULL and respond_id != P and parent == NULL may
             parent = respond_id; respond_id = NULL; goto 1; }
}

initially zero;

safe "there is a root": exists p (mode[p] == 0 or parent[p] == NULL);
