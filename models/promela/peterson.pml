// shoal: verdict=holds states=38
//
// Peterson's lock for two processes: who wants in gives way to the other, and waits while the other wants in and it is
// its own turn to give way.

bool wants[2];
byte turn, inside;

active [2] proctype user() {
	byte other = 1 - _pid;
again:	wants[_pid] = true;
	turn = _pid;
	(!wants[other] || turn == other);
	inside++;
critical:
	assert(inside == 1);
	inside--;
	wants[_pid] = false;
	goto again
}

ltl one_at_a_time { [] (inside <= 1) }
