-- The election of leaders when respond_id may point anywhere at the beginning, as the paper's definition has it. (So may
-- parent, but that is written before it is read.)

-- shoal: set M=3 verdict=holds full=98
-- shoal: set M=4 verdict=holds full=712

const M = 4;

global pointer respond_id;
local pointer parent;

process node : M {
  mode 0 { when true may parent = NULL; goto 1; }
  mode 1 { when respond_id == NULL and parent == NULL may respond_id = P; goto 1;
           when respond_id != NULL and respond_id != P and parent == NULL may
             parent = respond_id; respond_id = NULL; goto 1; }
}

initially zero but free respond_id;

safe "there is a root": exists p (mode[p] == 0 or parent[p] == NULL);
