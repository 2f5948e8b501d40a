#!/usr/bin/env bash
# What every pipeline runs: checks FILES with OPTIONS and leaves all reports in the folder REPORT.
# Ends with the exit code of `shoal check`, so that a violation, a mistake and what is not decided are all red.
set -uo pipefail
: "${FILES:?the models, separated by spaces}"
report=${REPORT:-shoal-report}
mkdir -p "$report" || exit 2

# Words, and patterns of the shell, are what the two variables are for.
# shellcheck disable=SC2206
files=($FILES) options=(${OPTIONS:-})

shoal check --json --junit "$report/shoal.junit.xml" --sarif "$report/shoal.sarif" --trace "$report/trace.itf.json" \
    ${options[@]+"${options[@]}"} -- "${files[@]}" > "$report/shoal.ndjson"
code=$?

# A line for each property, for people who read the log.
python3 - "$report/shoal.ndjson" <<'PY' || true
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    event = json.loads(line)
    if event["event"] == "verdict":
        reason = f": {event['reason']}" if event.get("reason") else ""
        print(f"{event['file']}: {event['verdict']} {event['name']!r}{reason}")
    elif event["event"] == "error":
        print(f"{event['file']}: error: {event['message']}")
PY

[ -z "${GITHUB_OUTPUT:-}" ] || echo "exit-code=$code" >> "$GITHUB_OUTPUT"
exit "$code"
