// shoal: verdict=holds states=8451
//
// Two-phase commit: the coordinator asks all, commits if all say yes, and tells all. Records travel in messages.

#define N 3

mtype = { ask, yes, no, commit, abort };

typedef Vote { mtype answer; byte from };

chan ballot[N] = [1] of { mtype };
chan votes = [N] of { Vote };
mtype decided[N];

active proctype coordinator() {
	byte i, agreed;
	Vote vote;
	for (i : 0 .. N - 1) { ballot[i]!ask }
	for (i : 1 .. N) {
		votes?vote;
		if
		:: vote.answer == yes -> agreed++
		:: else
		fi
	}
	for (i : 0 .. N - 1) {
		ballot[i]!(agreed == N -> commit : abort)
	}
}

active [N] proctype participant() {
	byte me = _pid - 1;
	Vote vote;
	ballot[me]?ask;
	vote.from = me;
	if
	:: vote.answer = yes
	:: vote.answer = no
	fi;
	votes!vote;
	ballot[me]?decided[me];
	assert(decided[me] != commit || vote.answer == yes)
}

#define mixed(a, b) (decided[a] == commit && decided[b] == abort)

ltl all_decide_alike { [] !(mixed(0, 1) || mixed(1, 0) || mixed(0, 2) || mixed(2, 0)) }
