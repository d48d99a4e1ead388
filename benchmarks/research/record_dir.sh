#!/usr/bin/env bash
# Names a directory for a new record: benchmarks/record/<cpu>/<date>-<commit> below the root, and with
# -2, -3, ... behind that if files of the PATTERN were recorded there already. So nothing is ever
# written over.
set -euo pipefail

pattern=${1:?usage: record_dir.sh PATTERN [RECORDS]}
root=$(cd "$(dirname "$0")/../.." && pwd)
records=${2:-benchmarks/record}
cd "$root"

cpu=$(sed -n 's/(R)//g; s/(TM)//g; s/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 |
    tr -d '\n' | tr '[:upper:]' '[:lower:]' | tr -cs '[:lower:][:digit:]' -)
commit=$(git describe --always --abbrev=12 --exclude='*' --dirty 2>/dev/null) || commit=unknown
base=$records/${cpu:-unknown-cpu}/$(date -u +%Y-%m-%d)-$commit
directory=$base
number=1
while compgen -G "$directory/$pattern" >/dev/null; do
    number=$((number + 1))
    directory=$base-$number
done
printf '%s\n' "$directory"
