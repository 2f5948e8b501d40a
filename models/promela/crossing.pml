// shoal: verdict=holds states=16
//
// Lights at a crossing. An escape (`unless`) puts both to red at once when the emergency switch is thrown, whatever they
// are doing.

mtype = { red, green };

mtype north = red, east = red;
bool emergency;

active proctype lights() {
	do
	:: {
		do
		:: north = green; north = red
		:: east = green; east = red
		od
	   } unless {
		emergency -> atomic { north = red; east = red };
		!emergency
	   }
	od
}

active proctype crew() {
	do
	:: emergency = true; emergency = false
	od
}

never {		/* both green */
	do
	:: north == green && east == green -> break
	:: else
	od
}
