#!/usr/bin/env bash
# Runs every benchmark, records the results, and makes one page of them.
set -euo pipefail

usage() {
    cat <<'TEXT'
Runs every benchmark, records the results, and makes one page of them.

Usage: run_all.sh [OPTIONS]
       run_all.sh --compare OLD NEW
       run_all.sh --compare OLD OLD-2 ... -- NEW NEW-2 ...

Options:
  --quick            takes about 4 minutes instead of 40, on an otherwise idle machine
  --smoke            one round of three messages each: shows that everything runs; no measurement
  --output DIR       the directory of the results; default benchmarks/record/<cpu>/<date>-<commit>;
                     with --quick and --smoke a directory below target/, which is no record
  --only A,B         only these programs of programs.txt, and no other language; another name is an error
  --bin-dir DIR      the directory of built programs; otherwise they are built for release
  --compare OLD NEW  compares two directories, or several runs of one commit with several runs of
                     another one; the exit code is 1 if a result became worse by more than noise, is
                     missing, or fails now; benchmarks/README.md says what is compared
  --help             this text

Writes <program>.json and outcomes.tsv, which are the record, and .hlog (histograms), .txt, results.csv
and report.html, which are not committed. No record is overwritten. The exit code is 1 if a program
failed: the page names it, and shows the others.
TEXT
}

# Stops with a message about the command line.
refuse() {
    printf 'run_all.sh: %s (--help lists the options)\n' "$1" >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cargo=${CARGO:-cargo}

# The exit code of a program that was built without what it needs.
SKIPPED=77

# The longest that one program may run before it is ended, in seconds.
TIME_MAX=2400

mode=full
output=
unset only
bin_dir=
compare=()
while [ $# -gt 0 ]; do
    case $1 in
    --quick | --smoke) mode=${1#--} ;;
    --output | --only | --bin-dir)
        [ $# -ge 2 ] || refuse "$1 needs a value"
        case $1 in
        --output) output=$2 ;;
        --only) only=$2 ;;
        --bin-dir) bin_dir=$2 ;;
        esac
        shift
        ;;
    --compare)
        [ $# -ge 3 ] || refuse "--compare needs two directories"
        compare=("${@:2}")
        shift $(($# - 1))
        ;;
    --help | -h)
        usage
        exit 0
        ;;
    *) refuse "unknown argument '$1'" ;;
    esac
    shift
done

# Refuses a name of --only that programs.txt does not have.
check_names() {
    local name known
    known=$(only='' programs | cut -d'|' -f1)
    while IFS= read -r -d, name; do
        grep -Fqx -e "$name" <<<"$known" ||
            refuse "--only: programs.txt has no program '$name'"
    done <<<"$1,"
}

# Prints the programs to run, a line each, as in programs.txt.
programs() {
    grep -v '^ *\(#\|$\)' "$here/programs.txt" | while IFS='|' read -r name rest; do
        name=${name// /}
        case ",${only-}," in
        ,, | *",$name,"*) printf '%s|%s\n' "$name" "$rest" ;;
        esac
    done
}

# Records the result of a program: name, result, seconds.
note() {
    printf '%s\t%s\t%d\n' "$1" "$2" "$3" >>"$output/outcomes.tsv"
    printf '%-30s %5d s  %s\n' "$1" "$3" "$2" >&2
}

# Runs a program whose arguments follow its name; keeps its table, and its messages if it fails.
run() {
    local name=$1 begin=$SECONDS code=0
    shift
    timeout "$TIME_MAX" "$@" >"$output/$name.txt" 2>"$output/$name.log" </dev/null || code=$?
    local result=ok
    if [ "$code" -eq 124 ]; then
        result="failed: still running after $TIME_MAX s"
    elif [ "$code" -eq "$SKIPPED" ]; then
        result="skipped: $(tail -n 1 "$output/$name.log" | tr '\t' ' ')"
        code=0
    elif [ "$code" -ne 0 ]; then
        # A failure has its own line on the page; tabs would end it.
        result="failed with exit code $code: $(tail -n 1 "$output/$name.log" | tr '\t' ' ')"
    fi
    if [ "$code" -eq 0 ]; then
        rm -f "$output/$name.log"
    else
        failures=$((failures + 1))
    fi
    note "$name" "$result" $((SECONDS - begin))
}

# Builds all programs for release: with what they compare with, where it can be built.
build() {
    local options=(build --release --locked -p horus_benchmarks --bins)
    cd "$root"
    if ! "$cargo" "${options[@]}" --features iceoryx2,actor_peers; then
        printf 'run_all.sh: iceoryx2 cannot be built (it needs libclang: apt-get install ' >&2
        printf 'libclang-dev); going on without it\n' >&2
        "$cargo" "${options[@]}" --features actor_peers
    fi
    bin_dir=${CARGO_TARGET_DIR:-$root/target}/release
}

# Runs the Python benchmark, in a virtual environment with the package as users install it.
run_python() {
    local name=research_bench_python seconds=5
    local script=$root/horus_py/benchmarks/$name.py
    local venv=${CARGO_TARGET_DIR:-$root/target}/venv-benchmarks
    [ "$mode" = full ] || seconds=0.3
    if ! [ -f "$script" ]; then
        note "$name" "skipped: not in this checkout" 0
    elif ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        note "$name" "skipped: no virtual environments (apt-get install python3-venv)" 0
    elif ! { python3 -m venv "$venv" &&
        CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target} "$venv/bin/pip" install --quiet \
            --disable-pip-version-check "$root/horus_py[test]"; } >"$output/$name.log" 2>&1; then
        failures=$((failures + 1))
        note "$name" "failed: the package cannot be installed, see $name.log" 0
    else
        local rust=()
        [ -f "$output/all_paths_latency.json" ] && rust=(--rust "$output/all_paths_latency.json")
        run "$name" "$venv/bin/python" "$script" --duration "$seconds" \
            --json "$output/$name.json" "${rust[@]}"
    fi
}

# Measures the cost of the C++ binding, from C++.
run_cpp() {
    local name=cpp_benchmark begin=$SECONDS
    local target=${CARGO_TARGET_DIR:-$root/target}
    local source=$root/horus_cpp/tests/$name.cpp
    if ! grep -q -e '--json' "$source" 2>/dev/null; then
        note "$name" "skipped: it writes no records" 0
    elif ! command -v c++ >/dev/null; then
        note "$name" "skipped: no C++ compiler (apt-get install g++)" 0
    elif ! { cd "$root" && "$cargo" build --release --locked -p horus_cpp &&
        c++ -std=c++17 -O2 -o "$target/$name" "$source" -I "$root/horus_cpp/include" \
            -L "$target/release" -lhorus_cpp -lpthread -ldl -lm; } >"$output/$name.log" 2>&1; then
        failures=$((failures + 1))
        note "$name" "failed to build, see $name.log" $((SECONDS - begin))
    else
        local commit
        commit=$(git -C "$root" describe --always --abbrev=12 --exclude '*' --dirty) || commit=unknown
        run "$name" env LD_LIBRARY_PATH="$target/release" HORUS_COMMIT="$commit" "$target/$name" \
            --json "$output/$name.json"
    fi
}

[ -z "${only+set}" ] || check_names "$only"
[ -n "$bin_dir" ] || build
if [ ${#compare[@]} -gt 0 ]; then
    exec "$bin_dir/research_report" --compare "${compare[@]}"
fi

if [ -z "$output" ]; then
    records=benchmarks/record
    [ "$mode" = full ] || records=target/benchmarks/$mode
    output=$root/$("$here/record_dir.sh" '*.json' "$records")
fi
! compgen -G "$output/*.json" >/dev/null ||
    refuse "--output $output holds a record, and no record is overwritten: name another directory"
mkdir -p "$output"
output=$(cd "$output" && pwd)
: >"$output/outcomes.tsv"
failures=0
begin=$SECONDS

while IFS='|' read -r name quick full; do
    case $mode in
    quick) options=$quick ;;
    smoke) options="--quick --rounds 1 --samples 3" ;;
    *) options=$full ;;
    esac
    # shellcheck disable=SC2086 # Options of plain words.
    run "$name" "$bin_dir/$name" $options --json "$output/$name.json"
done < <(programs)
if [ -z "${only-}" ] && [ "$mode" != smoke ]; then
    run_python
    run_cpp
fi

"$bin_dir/research_report" "$output"
printf '%d programs failed; %d s in all\n' "$failures" $((SECONDS - begin)) >&2
[ "$failures" -eq 0 ]
