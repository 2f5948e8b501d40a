// shoal: verdict=holds states=355
//
// A token goes round by rendezvous. Who holds it may work. Now and then it is lost; when nothing else can happen, the
// first process makes a new one.

#define N 3

chan pass[N] = [0] of { bit };
byte working;
bool lost;

active [N] proctype station() {
	bit token;
	if
	:: _pid == 0 -> token = 1
	:: else
	fi;
	do
	:: token ->
		if
		:: working++; assert(working == 1); working--
		:: skip
		:: atomic { !lost -> lost = true; token = 0; goto wait }
		fi;
		pass[(_pid + 1) % N]!1;
		token = 0
	:: !token ->
wait:		if
		:: pass[_pid]?token
		:: timeout && _pid == 0 -> token = 1
		fi
	od
}
