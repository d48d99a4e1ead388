#!/usr/bin/env bash
# Prints a directory for a new record: benchmarks/record/<cpu>/<date>-<commit> below the root. Adds
# -2, -3, ... if it holds files of the PATTERN already, so that no record is overwritten.
set -euo pipefail

pattern=${1:?usage: record_dir.sh PATTERN [RECORDS]}
root=$(cd "$(dirname "$0")/../.." && pwd)
records=${2:-benchmarks/record}
cd "$root"

# Prints what /proc/cpuinfo says about the first CPU.
of_cpu() {
    sed -n "/^$1[[:space:]]*:/{ s/(R)//g; s/(TM)//g; s/^[^:]*: *//p; q; }" /proc/cpuinfo
}

# With family and model, because virtual machines with different CPUs say the same name.
cpu=$(of_cpu 'model name')
family=$(of_cpu 'cpu family')
cpu=$(printf '%s' "$cpu${family:+ family $family model $(of_cpu model)}" |
    tr '[:upper:]' '[:lower:]' | tr -cs '[:lower:][:digit:]' -)
commit=$(git describe --always --abbrev=12 --exclude='*' --dirty 2>/dev/null) || commit=unknown
base=$records/${cpu:-unknown-cpu}/$(date -u +%Y-%m-%d)-$commit
directory=$base
number=1
while compgen -G "$directory/$pattern" >/dev/null; do
    number=$((number + 1))
    directory=$base-$number
done
printf '%s\n' "$directory"
