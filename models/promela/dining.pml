// shoal: verdict=violated property="invalid end states" depth=4
//
// Four philosophers who all take the fork to their left first. When each holds one fork, nobody can go on.

#define N 4

bool taken[N];

active [N] proctype philosopher() {
	byte right = (_pid + 1) % N;
	do
	:: atomic { !taken[_pid] -> taken[_pid] = true };
		atomic { !taken[right] -> taken[right] = true };
		taken[right] = false;
		taken[_pid] = false
	od
}
