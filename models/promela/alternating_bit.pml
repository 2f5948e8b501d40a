// shoal: verdict=holds states=157
//
// The alternating bit protocol over channels that lose messages. The payload counts modulo 3, so that a message that is
// lost or taken twice shows.

mtype = { data, ack }
chan forth = [2] of { mtype, bit, byte };
chan back = [2] of { mtype, bit };

active proctype sender() {
	bit b, heard; byte payload;
	do
	:: forth!data(b, payload);
		do
		:: back?ack(heard) ->
			if
			:: heard == b -> b = 1 - b; payload = (payload + 1) % 3; break
			:: else
			fi
		:: timeout -> forth!data(b, payload)
		od
	od
}

active proctype receiver() {
	bit b, got; byte payload, wanted;
	do
	:: forth?data(got, payload) ->
		if
		:: got == b ->
			assert(payload == wanted);
			d_step { wanted = (wanted + 1) % 3; b = 1 - b; payload = 0 }
		:: else
		fi;
		back!ack(got)
	od
}

active proctype thief() {
	do
	:: atomic { forth?_, _, _ -> skip }
	:: atomic { back?_, _ -> skip }
	od
}
