// shoal: verdict=holds states=6448
//
// Processes that make processes: each node of a tree starts two children, waits for both on a channel of its own that
// it has passed to them, and reports how many leaves there are below it.

#define DEPTH 2

proctype node(byte level; chan parent) {
	chan mine = [2] of { byte };
	byte left, right;
	if
	:: level == 0 -> parent!1
	:: else ->
		run node(level - 1, mine);
		run node(level - 1, mine);
		mine?left;
		mine?right;
		parent!(left + right)
	fi
}

init {
	chan root = [1] of { byte };
	byte leaves;
	run node(DEPTH, root);
	root?leaves;
	assert(leaves == 1 << DEPTH)
}
