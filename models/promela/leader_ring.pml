// shoal: verdict=holds states=425
//
// Leader election on a ring that passes messages one way (Chang and Roberts): a process passes on names greater than
// its own, and who gets its own name back is the leader.

#define N 4

chan ring[N] = [N] of { byte };
byte leaders;

proctype member(byte place; byte name) {
	byte got;
	ring[(place + 1) % N]!name;
	do
	:: ring[place]?got ->
		if
		:: got > name -> ring[(place + 1) % N]!got
		:: got == name -> leaders++; break
		:: else
		fi
	:: leaders > 0 && empty(ring[place]) -> break
	od;
	assert(leaders <= 1)
}

init {
	byte i;
	atomic {
		for (i : 0 .. N - 1) {
			run member(i, (i * 3 + 1) % 5)
		}
	}
}

ltl somebody_leads { <> (leaders == 1) }
